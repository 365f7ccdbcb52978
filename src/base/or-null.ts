// A read that may fail, as a value.

type ErrorClass = new (...given: never[]) => Error;

/** What `read` returns; null if it throws an error of one of these classes. */
export function orNull<Value>(
  read: () => Value,
  expected: readonly ErrorClass[] = [Error],
): Value | null {
  try {
    return read();
  } catch (error) {
    if (expected.some((known) => error instanceof known)) return null;
    throw error;
  }
}
