// The JSON logger of server and agent.
import { fstatSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import sonicBoom from 'sonic-boom';

export type { Logger } from 'pino';

/**
 * Creates a logger that writes JSON lines to standard error; standard output is for data. Credentials in logged headers
 * of requests and responses are redacted. If standard error goes to journald, each line starts with its severity as in
 * sd-daemon(3), such as `<3>` for an error; journald strips it, so that the JSON stays intact.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const onDropped = (lines: number) => logger.warn({ lines }, 'log lines were dropped');
  const logger = pino(
    {
      level,
      redact: {
        paths: [
          'req.headers.authorization',
          'req.headers.cookie',
          'res.headers["set-cookie"]',
          'headers.authorization',
          'headers.cookie',
        ],
        censor: '[redacted]',
      },
    },
    destination ?? standardError(onDropped),
  );
  return logger;
}

/** pino flushes the stream after each fatal line, because the process may end before the event loop continues. */
interface FlushableStream extends DestinationStream {
  flushSync?(): void;
}

/** Maximum buffer of a full pipe; further lines are dropped. */
const MOST_BYTES = 1024 * 1024;

/** Prefixes each line with its severity as in syslog(3). */
export function withSeverity(stream: FlushableStream): FlushableStream {
  return {
    write(line: string) {
      stream.write(`<${severityOf(Number(/"level":(\d+)/.exec(line)?.[1]))}>${line}`);
    },
    flushSync() {
      stream.flushSync?.();
    },
  };
}

/**
 * A stream to standard error. A write error, such as a full disk, neither ends nor blocks the process: each line
 * retries the buffered ones. `onDropped` is called afterwards with the number of dropped lines. The stream is a later
 * version than pino's own, whose synchronous flush loops forever on a full disk.
 */
function standardError(onDropped: (lines: number) => void): DestinationStream {
  const stream = new sonicBoom.SonicBoom({ fd: 2, sync: false, maxLength: MOST_BYTES });
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    // The reader is gone. pino's own stream does the same.
    if (code === 'EPIPE') stream.write = () => true;
  });
  process.on('exit', () => {
    try {
      stream.flushSync();
    } catch {
      // There is nowhere left to report it.
    }
  });
  let dropped = 0;
  stream.on('drop', () => {
    dropped += 1;
  });
  stream.on('drain', () => {
    if (dropped === 0) return;
    onDropped(dropped);
    dropped = 0;
  });
  return isJournal(process.env.JOURNAL_STREAM) ? withSeverity(stream) : stream;
}

/** Whether systemd connected standard error to journald; see systemd.exec(5). */
function isJournal(journalStream: string | undefined): boolean {
  if (!journalStream) return false;
  const { dev, ino } = fstatSync(2, { bigint: true });
  return journalStream === `${dev}:${ino}`;
}

function severityOf(level: number): number {
  if (level >= 60) return 2;
  if (level >= 50) return 3;
  if (level >= 40) return 4;
  return level >= 30 ? 6 : 7;
}
