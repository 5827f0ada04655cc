export interface Summary {
  readonly median: number;
  /** Half the distance between the quartiles over the median. */
  readonly spread: number;
}

export function summary(numbers: readonly number[]): Summary {
  const sorted = numbers.toSorted((left, right) => left - right);
  const median = quantile(sorted, 0.5);
  return { median, spread: (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2 / median };
}

/** Between the two nearest numbers, in proportion. */
function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}

export function geomean(numbers: readonly number[]): number {
  return Math.exp(numbers.reduce((sum, number) => sum + Math.log(number), 0) / numbers.length);
}
