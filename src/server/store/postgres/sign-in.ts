// biome-ignore lint/suspicious/noExplicitAny: to be written
export function signInStore(..._given: unknown[]): any {
  return {};
}
