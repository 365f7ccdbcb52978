import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { fdatasync } = fs;

/** A database's log whose flushes end when the test says so; other files of the process are flushed as ever. */
export class HeldDisk {
  readonly #held: { file: number; done: fs.NoParamCallback }[] = [];

  constructor(log: string) {
    const { ino } = fs.statSync(log);
    const hold = (file: number, done: fs.NoParamCallback): void => {
      if (fs.fstatSync(file).ino === ino) this.#held.push({ file, done });
      else fdatasync(file, done);
    };
    fs.fdatasync = Object.assign(hold, { __promisify__: fdatasync.__promisify__ });
    syncBuiltinESMExports();
  }

  /** Of each file that waits for its flush. */
  get inodes(): number[] {
    return this.#held.map(({ file }) => fs.fstatSync(file).ino);
  }

  flush(): void {
    for (const { file, done } of this.#held.splice(0)) fdatasync(file, done);
  }

  fail(fault: NodeJS.ErrnoException): void {
    for (const { done } of this.#held.splice(0)) done(fault);
  }

  /** Flushes are the system's again. */
  release(): void {
    fs.fdatasync = fdatasync;
    syncBuiltinESMExports();
    this.flush();
  }
}
