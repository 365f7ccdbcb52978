import {
  prepareServer,
  type ServerOptions,
  type StartingServer,
} from '../support/server-process.ts';

/** One server after another for the same robots, each made ready while the one before works. */
export interface Site {
  /** Where the server listens; while none does, where the next one will. */
  url(): Promise<string>;
  start(options: ServerOptions): StartingServer;
  close(): Promise<void>;
}

export function openSite(): Site {
  let next = prepareServer();
  let current: string | null = null;
  let waiting: ((url: string) => void)[] = [];
  return {
    url: async () => current ?? new Promise((resolve) => waiting.push(resolve)),
    start(options) {
      const server = next.start(options);
      next = prepareServer();
      server.url.then(
        (url) => {
          current = url;
          for (const tell of waiting) tell(url);
          waiting = [];
        },
        // Killed before it listened: who waits gets the one after.
        () => {},
      );
      server.ended.then(() => {
        current = null;
      });
      return server;
    },
    close: () => next.discard(),
  };
}
