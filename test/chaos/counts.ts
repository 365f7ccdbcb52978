/** How often things happened, by name. */
export class Counts extends Map<string, number> {
  add(name: string, times = 1): void {
    this.set(name, (this.get(name) ?? 0) + times);
  }

  addAll(other: ReadonlyMap<string, number>): void {
    for (const [name, times] of other) this.add(name, times);
  }

  get total(): number {
    return [...this.values()].reduce((sum, times) => sum + times, 0);
  }
}
