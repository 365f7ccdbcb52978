// Signs the statements in the spool, in the background.
import type { Logger } from '../../base/logger.ts';
import { SvcError } from '../../base/svc-error.ts';
import { openKey } from '../../proof/statements/public-key.ts';
import { keyVersion } from '../key.ts';
import type { Spool } from '../spool/spool.ts';
import type { StoredStatement } from '../spool/statements.ts';
import { Retries, type UploaderPauses } from '../uploads/retry.ts';
import { readSigningKey, type SigningKey, signingKeyFile } from './key-file.ts';

export interface SignerOptions {
  readonly folder: string;
  readonly signCommand: readonly string[] | null;
  readonly spool: Spool;
  readonly logger: Logger;
  readonly pauses: UploaderPauses;
}

const NEXT = 'next';

/** Has the key, and signs one batch of statements after the other. A failure delays uploads, and nothing else. */
export class Signer {
  readonly #options: SignerOptions;
  readonly #retries = new Retries();
  readonly #stopping = new AbortController();
  #key: SigningKey | null = null;
  #version: string | null = null;
  #lastError: { code: string; message: string } | null = null;
  #running: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SignerOptions) {
    this.#options = options;
    options.spool.onChange(() => this.wake());
  }

  /** The key of the file; null without a usable one. */
  get key(): SigningKey | null {
    return this.#key;
  }

  get lastError() {
    return this.#lastError;
  }

  /** Reads the key file if it has changed. */
  async look(): Promise<void> {
    const { folder, signCommand, pauses } = this.#options;
    try {
      const version = await keyVersion({ file: signingKeyFile(folder) });
      if (version === this.#version) return;
      this.#version = version;
      this.#key = await readSigningKey(folder, signCommand, pauses.signCommandMs);
      this.#lastError = null;
    } catch (error) {
      this.#key = null;
      this.#failed(error);
    }
    this.wake();
  }

  wake(): void {
    if (this.#running !== null || this.#stopping.signal.aborted) return;
    const waitMs = this.#retries.waitMs(NEXT);
    clearTimeout(this.#timer);
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.wake(), waitMs);
      return;
    }
    this.#running = this.#signAll()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#running = null;
        if (this.#retries.waitMs(NEXT) > 0) this.wake();
      });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #signAll(): Promise<void> {
    const { spool } = this.#options;
    const { signal } = this.#stopping;
    const key = this.#key;
    const used = spool.read(({ statements }) => statements.key());
    if (key === null || key.thumbprint !== used?.thumbprint) return;
    const check = await openKey(key.publicKey);
    for (;;) {
      const unsigned = signal.aborted ? [] : spool.read((t) => t.statements.unsigned(key.batch));
      if (unsigned.length === 0) return;
      const signed: (readonly [StoredStatement, string])[] = [];
      for (const statement of unsigned) {
        if (statement.kid !== used.kid) return;
        const signature = await key.sign(statement.signed, signal);
        if (!(await check(statement.signed, signature))) throw wrongSignature();
        signed.push([statement, Buffer.from(signature).toString('base64url')]);
      }
      await spool.keepSignatures(signed);
      this.#retries.succeeded(NEXT);
      this.#lastError = null;
    }
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#retries.failed(NEXT, this.#options.pauses.usual);
    const { logger } = this.#options;
    if (!(error instanceof SvcError)) {
      logger.error({ err: error }, 'unexpected error');
      this.#lastError = { code: 'internal_error', message: 'Signing failed. See the log.' };
      return;
    }
    const { code, message } = error;
    if (message !== this.#lastError?.message) {
      logger.error({ code, reason: message, hint: error.hint }, 'signing failed');
    }
    this.#lastError = { code, message };
  }
}

function wrongSignature(): SvcError {
  return new SvcError('sign_failed', 'The signature does not fit the public key of the robot.', {
    hint: 'Run svc-agent identity create --replace with the key that signs.',
  });
}
