// biome-ignore lint/suspicious/noExplicitAny: to be written
export function checkInvariants(..._given: unknown[]): any {
  return {};
}
