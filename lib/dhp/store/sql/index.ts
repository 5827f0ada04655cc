import { sql as sql0001 } from './0001.ts';

/** The schema's history: entry n takes a database from version n to n + 1. */
export const MIGRATIONS: readonly string[] = [sql0001];
