import { InvalidArgumentError } from 'commander';

/** A count of at least one. */
export function positive(text: string): number {
  const value = Number(text);
  if (!/^[1-9]\d*$/.test(text) || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError('It must be a whole number above 0.');
  }
  return value;
}
