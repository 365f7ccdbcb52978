// Signs with a program, such as `pkcs11-tool` or the command line of a key management service.
import { spawn } from 'node:child_process';
import { SvcError } from '../../base/svc-error.ts';
import type { Algorithm } from '../../proof/statements/public-key.ts';

const MOST_BYTES = 1024;
const MOST_ERROR_CHARACTERS = 300;

/**
 * Runs the command without a shell: data on standard input, signature in base64 on standard output. Kills the command and
 * all that it started after `timeoutMs`, after too much output, or when the signal aborts.
 * @throws SvcError `sign_failed`
 */
export function runSignCommand(
  [file = '', ...args]: readonly string[],
  data: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Buffer> {
  const { SVC_AGENT_KEY: _, ...env } = process.env;
  return new Promise((resolve, reject) => {
    // A process group of its own.
    const child = spawn(file, args, { detached: true, env, stdio: 'pipe' });
    let [output, errors] = ['', ''];
    const end = (problem?: string) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      if (problem === undefined) return resolve(Buffer.from(output, 'base64'));
      killGroup(child.pid);
      reject(failed(problem));
    };
    const abort = () => end('was stopped with the agent');
    const timer = setTimeout(() => end(`took longer than ${timeoutMs / 1000} s`), timeoutMs);
    signal.addEventListener('abort', abort);
    child.on('error', ({ message }) => end(`could not be started: ${message}`));
    child.stdin.on('error', () => {}); // A command that reads nothing fails by its output.
    child.stdin.end(data);
    child.stdout.setEncoding('latin1').on('data', (text: string) => {
      output += text;
      if (output.length > MOST_BYTES) end(`wrote more than ${MOST_BYTES} bytes`);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(0, MOST_ERROR_CHARACTERS);
    });
    child.on('close', (code, by) => {
      if (code === 0 && isBase64(output)) return end();
      // The end of a pipeline hides why its first program failed.
      const problem = code === 0 ? 'wrote something else than base64' : `ended with ${code ?? by}`;
      end(`${problem}: ${errors.trim() || 'no message'}`);
    });
  });
}

function failed(problem: string): SvcError {
  return new SvcError('sign_failed', `SVC_AGENT_SIGN_COMMAND ${problem}.`, { retryable: true });
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All of its processes have ended.
  }
}

function isBase64(text: string): boolean {
  return /^[\w+/\s-]+=*\s*$/.test(text);
}

/**
 * The 64 bytes of a JWS: Ed25519 as it is; ES256 as `r ‖ s` with the low `s`, also from DER (RFC 3279). Returns other bytes
 * as they are, for the caller's check.
 */
export async function signatureBytes(algorithm: Algorithm, bytes: Uint8Array): Promise<Uint8Array> {
  if (algorithm === 'Ed25519') return bytes;
  const { Signature } = (await import('@noble/curves/p256.js')).p256;
  try {
    const read = bytes.length === 64 ? Signature.fromCompact(bytes) : Signature.fromDER(bytes);
    return read.normalizeS().toCompactRawBytes();
  } catch {
    return bytes;
  }
}
