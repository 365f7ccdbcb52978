// biome-ignore lint/suspicious/noExplicitAny: to be written
export function robotDeletion(..._given: unknown[]): any {
  return {};
}
