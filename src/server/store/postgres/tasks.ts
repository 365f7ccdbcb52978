// biome-ignore lint/suspicious/noExplicitAny: to be written
export function taskStore(..._given: unknown[]): any {
  return {};
}
