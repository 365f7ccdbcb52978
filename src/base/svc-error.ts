// SvcError: an error with code, message, hint and whether a retry may help.

export interface SvcErrorOptions {
  /** What the reader can do about it, in one sentence. */
  hint?: string | undefined;
  /** Members of the response in addition to `error` and `message`. */
  details?: Record<string, unknown>;
  /** Whether the same request, repeated unchanged, can succeed later. */
  retryable?: boolean;
  cause?: unknown;
}

/**
 * The error class of the project. `message` is a sentence for people and contains no secret. An error that is not a
 * SvcError is a bug, and its text must not leave the process.
 */
export class SvcError<Code extends string = string> extends Error {
  /** A stable identifier. */
  readonly code: Code;
  /** What the reader can do about it, in one sentence. */
  readonly hint: string | undefined;
  /** Further members of the response; may be empty. */
  readonly details: Record<string, unknown>;
  /** Whether the same request, repeated unchanged, can succeed later. */
  readonly retryable: boolean;

  constructor(code: Code, message: string, options: SvcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SvcError';
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
    this.retryable = options.retryable ?? false;
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
};

/** The error for a file, named by the user, that cannot be read. `error` is the system's. */
export function unreadableFile(file: string, error: unknown, code = 'usage'): SvcError {
  const { code: reason = 'unknown' } = error as NodeJS.ErrnoException;
  // Node.js passes an argument that is not UTF-8 with U+FFFD in it, and finds no such file.
  if (reason === 'ENOENT' && /\ufffd|\p{Surrogate}/u.test(file)) {
    const message = `Cannot read ${file}: there is no such file, or its name is not UTF-8.`;
    return new SvcError(code, message, { hint: 'Rename the file; its name must be UTF-8.' });
  }
  return new SvcError(code, `Cannot read ${file}: ${reasons[reason] ?? reason}.`);
}
