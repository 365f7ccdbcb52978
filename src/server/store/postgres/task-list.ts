// biome-ignore lint/suspicious/noExplicitAny: to be written
export function taskListStore(..._given: unknown[]): any {
  return {};
}
