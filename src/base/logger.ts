// The JSON logger of server and agent.
import { fstatSync } from 'node:fs';
import { type DestinationStream, type Logger, pino } from 'pino';
import sonicBoom from 'sonic-boom';

export type { Logger } from 'pino';

/**
 * JSON lines on standard error: standard output is for data. Credentials are struck out wherever a
 * request or answer is logged with its headers. Where standard error is journald's, each line begins with its
 * severity as sd-daemon(3) has it, `<3>` for an error; journald takes that off, so that the JSON stays whole.
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

/** Flushed by pino after each fatal line: the process may end before the event loop goes on. */
interface FlushableStream extends DestinationStream {
  flushSync?(): void;
}

/** Lines that nobody takes off a full pipe are dropped beyond it. */
const MOST_BYTES = 1024 * 1024;

/**
 * A file that cannot be written, as on a full disk, ends nothing and holds nothing up: each line tries again what
 * waits. `onDropped` learns afterwards how many lines were dropped. The stream is of a later version than pino's own,
 * whose synchronous flush repeats for ever what a full disk refuses.
 */
function standardError(onDropped: (lines: number) => void): DestinationStream {
  const stream = new sonicBoom.SonicBoom({ fd: 2, sync: false, maxLength: MOST_BYTES });
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    // Nobody reads any more; pino's own stream does the same.
    if (code === 'EPIPE') stream.write = () => true;
  });
  process.on('exit', () => {
    try {
      stream.flushSync();
    } catch {
      // There is nowhere left to say it.
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

/** Whether standard error is what systemd connected to journald, systemd.exec(5). */
function isJournal(journalStream: string | undefined): boolean {
  if (!journalStream) return false;
  const { dev, ino } = fstatSync(2, { bigint: true });
  return journalStream === `${dev}:${ino}`;
}

/** Puts syslog(3)'s severity before each line. */
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

function severityOf(level: number): number {
  if (level >= 60) return 2;
  if (level >= 50) return 3;
  if (level >= 40) return 4;
  return level >= 30 ? 6 : 7;
}
