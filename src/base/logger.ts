// The logger of server and agent: JSON lines, or text on a terminal.
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import sonicBoom from 'sonic-boom';

export type { Logger } from 'pino';

export type LogFormat = 'json' | 'pretty';

/**
 * Creates a logger that writes to standard error; standard output is for data. The format defaults to `pretty` on a
 * terminal, otherwise to `json`: one object per line, with `level` by name and `time` in ISO 8601. Credentials in logged
 * headers of requests and responses are redacted. If standard error goes to journald, each line starts with its severity
 * as in sd-daemon(3), such as `<3>` for an error; journald strips it, so that the JSON stays intact.
 */
export function createLogger(
  level: string,
  format: LogFormat = isatty(2) ? 'pretty' : 'json',
): Logger {
  const onDropped = (lines: number) => logger.warn({ lines }, 'log lines were dropped');
  const logger = pino(
    {
      level,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (name) => ({ level: name }) },
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
    standardError(onDropped, format),
  );
  return logger;
}

/** pino flushes the stream after each fatal line, because the process may end before the event loop continues. */
interface FlushableStream extends DestinationStream {
  flushSync?(): void;
}

/**
 * Maximum size of the lines that wait for a full pipe; further ones are dropped. Each can keep 8 KiB of Node's pool of
 * buffers in memory, at most 30 MiB in all.
 */
const MOST_BYTES = 1024 * 1024;

/** Writes each line as text: local time, level, message, fields, and below them the stack of an error. */
export function asText(stream: FlushableStream): FlushableStream {
  return rewriting(stream, (line) => {
    const { time, level, msg, pid, hostname, err, ...fields } = JSON.parse(line);
    const { stack, ...error } = err ?? {};
    const pairs = Object.entries({ ...fields, ...(err && { err: error.message }) });
    const texts = pairs.map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
    const clock = new Date(time).toLocaleTimeString('sv');
    const below = stack === undefined ? '' : `${stack}\n`;
    const text = `${clock} ${level.toUpperCase().padEnd(5)} ${msg}${texts.join('')}\n${below}`;
    // A field may contain the escape sequences of a terminal.
    return text.replace(/(?!\n)\p{Cc}/gu, '');
  });
}

/** Prefixes each line with its severity as in syslog(3). */
export function withSeverity(stream: FlushableStream): FlushableStream {
  return rewriting(stream, (line) => {
    const level = /"level":"(\w+)"/.exec(line)?.[1] ?? '';
    return `<${severities[level] ?? 7}>${line}`;
  });
}

function rewriting(stream: FlushableStream, edit: (line: string) => string): FlushableStream {
  return { write: (line) => stream.write(edit(line)), flushSync: () => stream.flushSync?.() };
}

/**
 * A stream to standard error. A write error, such as a full disk, neither ends nor blocks the process: each line
 * retries the buffered ones. `onDropped` is called afterwards with the number of dropped lines. The stream is a later
 * version than pino's own, whose synchronous flush loops forever on a full disk.
 */
function standardError(onDropped: (lines: number) => void, format: LogFormat): DestinationStream {
  const stream = new sonicBoom.SonicBoom({
    fd: 2,
    sync: false,
    maxLength: MOST_BYTES,
    contentMode: 'buffer',
  });
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
  // Given text, the stream copies up to 16 KiB of waiting lines at each line.
  const lines: FlushableStream = {
    write: (line) => stream.write(Buffer.from(line) as unknown as string), // Its types know only text.
    flushSync: () => stream.flushSync(),
  };
  if (format === 'pretty') return asText(lines);
  return isJournal(process.env.JOURNAL_STREAM) ? withSeverity(lines) : lines;
}

/** Whether systemd connected standard error to journald; see systemd.exec(5). */
function isJournal(journalStream: string | undefined): boolean {
  if (!journalStream) return false;
  const { dev, ino } = fstatSync(2, { bigint: true });
  return journalStream === `${dev}:${ino}`;
}

/** Severities of syslog(3) by level. */
const severities: Readonly<Record<string, number>> = { fatal: 2, error: 3, warn: 4, info: 6 };
