import { statfsSync } from 'node:fs';
import { DhpError } from '../errors.ts';

// f_type of statfs(2), as the Linux kernel's magic.h and the file systems' own sources give it.
const NETWORK_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB2',
  0x01021997: '9p',
  0x65735546: 'FUSE',
  0x5346414f: 'AFS',
  0x73757245: 'Coda',
  0x00c36400: 'Ceph',
  0x0bd00bd0: 'Lustre',
  0x47504653: 'GPFS',
};

/** The file system type of a directory, as `statfs` tells it. */
export type FsTypeReader = (directory: string) => number;

/** Throws `E_NETWORK_FS` for a directory on a network file system: there, SQLite's locks and shared memory do not hold. */
export function refuseNetworkFs(directory: string, fsType: FsTypeReader = (path) => statfsSync(path).type): void {
  const name = NETWORK_FILE_SYSTEMS[fsType(directory) >>> 0];
  if (name === undefined) return;
  throw new DhpError(
    'E_NETWORK_FS',
    `${directory} is on ${name}: a database there can be corrupted by two writers; use a local directory, or allowNetworkFs if its locks are known to hold`,
    { directory, fileSystem: name },
  );
}
