// Reads which HTTP proxies the environment names, without their credentials. Loads no HTTP client.
import { isIP } from 'node:net';
import { familyOf, isAddressRange, isLoopback, rangesOf } from '../addresses.ts';
import { SvcError } from '../svc-error.ts';

/** The environment of the process, or of an installed service. */
type Variables = NodeJS.ProcessEnv;

/**
 * The proxies that the environment names; lower-case names come first.
 * @throws SvcError `invalid_configuration`, without the value: it may contain a password
 */
export function readProxies(variables: Variables) {
  return {
    /** With credentials: a secret. An empty text is none. */
    httpsProxy: proxyUrl('HTTPS_PROXY', variables),
    /** Also for https where `httpsProxy` is empty. */
    httpProxy: proxyUrl('HTTP_PROXY', variables),
    noProxy: given('NO_PROXY', variables),
  };
}

/** Lets this process use the proxies of another environment, such as that of an installed service. */
export function adoptProxies(variables: Variables): void {
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY']) {
    const value = given(name, variables);
    if (value !== '') process.env[name.toLowerCase()] = value;
  }
}

/** Addresses at which a system connects to itself, next to those of `isLoopback`. */
const OWN_ADDRESSES = ['127.0.0.0/8', '0.0.0.0', '::1', '::'];

/**
 * Whether requests to this URL may go through a proxy. Never to this machine itself, nor to addresses and ranges of
 * NO_PROXY. Its names are left to undici, which knows no ranges.
 */
export function mayUseProxy(url: string, variables: Variables): boolean {
  const isNamed = given('HTTPS_PROXY', variables) || given('HTTP_PROXY', variables);
  if (isNamed === '') return false;
  const host = new URL(url).hostname.replace(/^\[|\]$|\.$/g, '');
  if (isIP(host) === 0) return !isLoopback(host) && !host.endsWith('.localhost');
  const excepted = given('NO_PROXY', variables)
    .split(/[,\s]+/)
    .map((entry) => entry.replace(/^\[(.*)\]$/, '$1'))
    .filter(isAddressRange);
  return !rangesOf([...OWN_ADDRESSES, ...excepted]).check(host, familyOf(host));
}

/** For `doctor`, without credentials; null for no proxy. Throws as `readProxies`. */
export function describeProxies(variables: Variables): string | null {
  const { httpsProxy, httpProxy, noProxy } = readProxies(variables);
  const parts = [
    httpsProxy && `HTTPS_PROXY ${withoutCredentials(httpsProxy)}`,
    httpProxy && `HTTP_PROXY ${withoutCredentials(httpProxy)}`,
    noProxy && `NO_PROXY ${noProxy}`,
  ];
  return httpsProxy || httpProxy ? parts.filter(Boolean).join(', ') : null;
}

export function withoutCredentials(proxy: string): string {
  const url = new URL(proxy);
  return `${url.protocol}//${url.username || url.password ? '***@' : ''}${url.host}`;
}

/** As curl, takes `HOST:PORT` for an http proxy. */
export function proxyUrl(name: string, variables: Variables): string {
  const value = given(name, variables);
  if (value === '') return '';
  const url = value.includes('://') ? value : `http://${value}`;
  if (isHttp(url)) return url;
  throw new SvcError('invalid_configuration', `${name} is not the address of an HTTP proxy.`, {
    hint: `Set it to http://HOST:PORT, or unset it. In user and password, write @ as %40, : as %3A, / as %2F, # as %23, ? as %3F and % as %25.`,
  });
}

function isHttp(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text);
    // undici throws otherwise, with the credentials in its message.
    decodeURIComponent(`${username} ${password}`);
    return /^https?:$/.test(protocol);
  } catch {
    return false;
  }
}

function given(name: string, variables: Variables): string {
  return (variables[name.toLowerCase()] || variables[name] || '').trim();
}
