// The environment of `svc-agent`: read and checked.
import path from 'node:path';
import { type Static, Type } from 'typebox';
import { isLoopback } from '../base/addresses.ts';
import { orNull } from '../base/or-null.ts';
import { readEnvironment } from '../base/read-environment.ts';
import type { KeySource } from './key.ts';

const optional = (schema: { pattern: string; description: string }) =>
  Type.Optional(Type.String(schema));

/** Names, types, defaults and descriptions of all variables, in one place. */
export const environment = Type.Object({
  SVC_AGENT_URL: optional({
    pattern: '^https?://[^\\s,]+$',
    description: 'origin of the service: https, or http on this machine; required by run',
  }),
  SVC_AGENT_KEY_FILE: optional({
    pattern: '\\S',
    description:
      "file with the robot's API key, readable only by its owner (default: the systemd credential robot-key)",
  }),
  SVC_AGENT_KEY: optional({
    pattern: '^svc_[0-9a-f]{40}$',
    description: "the robot's API key; prefer SVC_AGENT_KEY_FILE",
  }),
  SVC_AGENT_STATE_DIR: optional({
    pattern: '\\S',
    description:
      'folder of the spool (default: the STATE_DIRECTORY that systemd sets, otherwise /var/lib/svc-agent)',
  }),
  SVC_AGENT_SOCKET: Type.String({
    default: '/run/svc-agent/agent.sock',
    // Longest socket path that Linux accepts, in bytes.
    maxLength: 107,
    description: 'unix socket of the local API, at most 107 bytes',
  }),
  SVC_AGENT_LISTEN: optional({
    pattern: '^(localhost|127(\\.\\d{1,3}){3}|\\[::1\\]):\\d{1,5}$',
    description:
      'loopback address and port of the local API, for programs that cannot use the socket',
  }),
  SVC_AGENT_TOKEN_FILE: optional({
    pattern: '\\S',
    description:
      'file with the token that callers of the address SVC_AGENT_LISTEN must send. The token has at least 16 characters. Only owner and group may read the file. Required with SVC_AGENT_LISTEN',
  }),
  SVC_AGENT_SPOOL_MAX_MB: Type.Integer({
    minimum: 32,
    maximum: 65_536,
    default: 256,
    description: 'maximum disk space of the spool, 32 to 65536 MiB',
  }),
  SVC_AGENT_SIGN_COMMAND: optional({
    pattern: '\\S',
    description:
      "command that signs the robot's work in place of a key file: words, or a JSON array of them. It reads the data from standard input and prints the signature in base64 within 10 seconds",
  }),
  SVC_AGENT_LOG_LEVEL: Type.Unsafe<'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'>({
    type: 'string',
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    description: 'minimum severity of log messages',
  }),
});

export type Environment = Readonly<Static<typeof environment>>;

export type AgentConfig = ReturnType<typeof readConfig>;

/**
 * Effective configuration. With `needed.service`, the variables that `run` needs are required.
 * @throws SvcError `invalid_configuration`, with every error at once
 */
export function readConfig(
  variables: NodeJS.ProcessEnv,
  needed: { service: boolean } = { service: false },
) {
  const values = readEnvironment(environment, variables, {
    prefix: 'SVC_AGENT_',
    foreign: /^$/,
    hint: 'Run svc-agent config --describe to list every variable.',
    errorsOf: (given) => [
      ...urlErrors(given.SVC_AGENT_URL),
      ...keyErrors(given),
      ...listenErrors(given),
      ...(commandOf(given.SVC_AGENT_SIGN_COMMAND)?.length === 0 ? [NO_COMMAND] : []),
      ...(needed.service ? missingErrors(given, variables) : []),
    ],
  });
  const folder =
    values.SVC_AGENT_STATE_DIR ?? variables.STATE_DIRECTORY?.split(':')[0] ?? '/var/lib/svc-agent';
  return Object.freeze({
    values,
    /** Origin of the service; null where `SVC_AGENT_URL` is not set. */
    serviceUrl: values.SVC_AGENT_URL === undefined ? null : new URL(values.SVC_AGENT_URL).origin,
    stateDir: path.resolve(folder),
    socket: path.resolve(values.SVC_AGENT_SOCKET),
    listen: listenOf(values),
    spoolBytes: values.SVC_AGENT_SPOOL_MAX_MB * 1024 * 1024,
    /** Program and arguments; null where a key file signs. */
    signCommand: commandOf(values.SVC_AGENT_SIGN_COMMAND),
    key: keySource(values, variables.CREDENTIALS_DIRECTORY),
  });
}

/** The file comes before systemd's credential; null where neither a file, a key nor a credential is set. */
function keySource(values: Environment, credentials: string | undefined): KeySource | null {
  const { SVC_AGENT_KEY_FILE: file, SVC_AGENT_KEY: key } = values;
  if (file !== undefined) return { file: path.resolve(file) };
  if (key !== undefined) return { key };
  return credentials ? { file: path.join(credentials, 'robot-key'), credential: true } : null;
}

function listenOf({ SVC_AGENT_LISTEN: text, SVC_AGENT_TOKEN_FILE: tokenFile }: Environment) {
  if (text === undefined || tokenFile === undefined) return null;
  const { hostname, port } = new URL(`http://${text}`);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80), tokenFile };
}

const NO_COMMAND = 'SVC_AGENT_SIGN_COMMAND must be words, or a JSON array of strings';

/** Program and arguments, without a shell: a JSON array, or words between blanks. Empty if it is neither. */
function commandOf(text: string | undefined): readonly string[] | null {
  if (text === undefined) return null;
  if (!text.trimStart().startsWith('[')) return text.trim().split(/\s+/);
  const list = orNull((): unknown => JSON.parse(text), [SyntaxError]);
  const isList = Array.isArray(list) && list.every((word) => typeof word === 'string');
  return isList && list[0] !== '' ? list : [];
}

function urlErrors(text: string | undefined): string[] {
  if (text === undefined) return [];
  if (!URL.canParse(text)) return ['SVC_AGENT_URL is not a URL, such as https://svc.example.com'];
  const url = new URL(text);
  if (url.username || url.password || url.pathname !== '/' || url.search || url.hash) {
    return ['SVC_AGENT_URL must be an origin alone, without path, query or credentials'];
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return ['SVC_AGENT_URL must begin with https://, or the key would be sent in the clear'];
  }
  return [];
}

/** The pattern of the variable accepts ports and addresses whose numbers are too large. */
function listenErrors(given: Readonly<Record<string, string>>): string[] {
  const { SVC_AGENT_LISTEN: text, SVC_AGENT_TOKEN_FILE: tokenFile } = given;
  if (text === undefined) return [];
  if (tokenFile === undefined) {
    return [
      'SVC_AGENT_LISTEN needs SVC_AGENT_TOKEN_FILE: every user of the machine reaches the port',
    ];
  }
  if (!/^[\w.:[\]]+$/.test(text) || URL.canParse(`http://${text}`)) return [];
  return ['SVC_AGENT_LISTEN must be a loopback address and a port from 0 to 65535'];
}

function keyErrors(given: Readonly<Record<string, string>>): string[] {
  return given.SVC_AGENT_KEY !== undefined && given.SVC_AGENT_KEY_FILE !== undefined
    ? ['SVC_AGENT_KEY and SVC_AGENT_KEY_FILE exclude each other']
    : [];
}

function missingErrors(
  given: Readonly<Record<string, string>>,
  { CREDENTIALS_DIRECTORY }: NodeJS.ProcessEnv,
): string[] {
  const hasKey = given.SVC_AGENT_KEY ?? given.SVC_AGENT_KEY_FILE ?? CREDENTIALS_DIRECTORY;
  return [
    ...(given.SVC_AGENT_URL === undefined ? ['SVC_AGENT_URL is not set'] : []),
    ...(hasKey ? [] : ['SVC_AGENT_KEY_FILE (or SVC_AGENT_KEY) is not set']),
  ];
}

/** What `svc-agent config` prints. The key is masked. */
export function effectiveValues(variables: NodeJS.ProcessEnv) {
  const { values, serviceUrl, stateDir } = readConfig(variables);
  return {
    ...values,
    SVC_AGENT_URL: serviceUrl,
    SVC_AGENT_STATE_DIR: stateDir,
    SVC_AGENT_KEY: values.SVC_AGENT_KEY === undefined ? null : '(set)',
  };
}
