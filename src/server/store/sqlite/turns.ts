/** Runs the works of one key one after the other, as they came; the first of them at once. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function takeTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const before = last.get(key);
    const done = before === undefined ? work() : before.then(work, work);
    last.set(key, done);
    const leave = () => {
      if (last.get(key) === done) last.delete(key);
    };
    done.then(leave, leave);
    return done;
  };
}
