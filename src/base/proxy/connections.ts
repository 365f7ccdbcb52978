// Connects through the proxies of the environment, with undici.
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch as undiciFetch } from 'undici';
import { mayUseProxy, readProxies } from './variables.ts';

/** Connections to this URL, through a proxy if the environment names one. Throws as `readProxies`. */
export function connectionsTo(url: string, options: Agent.Options = {}): Dispatcher {
  if (!mayUseProxy(url, process.env)) return new Agent(options);
  // Without a tunnel to http addresses: many proxies allow tunnels to port 443 only.
  return new EnvHttpProxyAgent({ ...options, ...readProxies(process.env), proxyTunnel: false });
}

/** `fetch`, through a proxy if the environment names one. Rejects as `readProxies` throws. */
export const proxiedFetch: typeof fetch = async (input, init) => {
  const url = String(input);
  if (!mayUseProxy(url, process.env)) return fetch(input, init);
  const answer: unknown = await undiciFetch(url, {
    ...(init as object),
    dispatcher: connectionsTo(url),
  });
  return answer as Response; // undici declares types of its own.
};
