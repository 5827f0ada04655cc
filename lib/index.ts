/** The public face of U-HOP. */
export type {
  Activation,
  Device,
  DType,
  ErrorCode,
  Path,
  Precision,
  Reason,
  ResultTensor,
  Tensor,
  TensorData,
} from '../backends/contract.ts';
export { UhopError } from '../backends/contract.ts';
