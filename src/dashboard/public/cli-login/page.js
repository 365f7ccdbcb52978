// The page that `svc login` opens: a wallet of this browser signs in, its owner allows the command line, and the
// browser sends the code to 127.0.0.1. The page writes foreign text as text, never as markup.

const query = new URLSearchParams(location.search);
const challenge = query.get('challenge') ?? '';
const state = query.get('state');
const port = query.get('port');
const machine = query.get('name') ?? '';

/**
 * An EIP-1193 provider and how its wallet introduces itself (EIP-6963).
 * @typedef {{ request: (call: { method: string, params?: unknown[] }) => Promise<any> }} Provider
 * @typedef {{ uuid?: string, name?: string, icon?: string }} WalletInfo
 */

/** @param {string} id */
function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no ${id}`);
  return element;
}

/**
 * Shows these sections and hides the others.
 * @param {string[]} ids
 */
function show(...ids) {
  for (const id of ['request', 'wallets', 'consent', 'handover']) {
    byId(id).hidden = !ids.includes(id);
  }
}

/** @param {string} text */
function showStatus(text) {
  byId('status').textContent = text;
}

/** @param {string} text */
function showError(text) {
  byId('error').textContent = text;
  byId('error').hidden = false;
  showStatus('');
}

/** Whether the link is complete: it has both state and port, or neither if the code is typed into the terminal. */
function isRequest() {
  if (!/^[\w-]{43}$/.test(challenge)) return false;
  if (state === null && port === null) return true;
  return (
    /^[\w-]{16,128}$/.test(state ?? '') &&
    /^[1-9]\d{0,4}$/.test(port ?? '') &&
    Number(port) <= 65535
  );
}

/**
 * Sends the browser back to the command line, which listens on this machine only.
 * @param {Record<string, string>} answer
 */
function goBack(answer) {
  const target = new URL(`http://127.0.0.1:${port}/callback`);
  target.search = new URLSearchParams({ ...answer, state: state ?? '' }).toString();
  location.replace(target.href);
}

/**
 * Sends one request to the service. Throws the service's message if the service refuses.
 * @param {string} path
 * @param {object} [body]
 */
async function ask(path, body) {
  const response = await fetch(path, {
    ...(body && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.message), { code: answer.error });
}

/**
 * Finds the wallets of this browser, which announce themselves at any time (EIP-6963).
 * @param {(info: WalletInfo, provider: Provider) => void} found called once for each wallet
 */
function discoverWallets(found) {
  const known = new Set();
  window.addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = /** @type {CustomEvent} */ (event).detail ?? {};
    if (typeof provider?.request !== 'function' || known.has(info?.uuid)) return;
    known.add(info?.uuid);
    found(info, provider);
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
}

/** @param {WalletInfo} info @param {Provider} provider */
function addWallet(info, provider) {
  const button = document.createElement('button');
  button.type = 'button';
  const source = String(info?.icon ?? '');
  if (source.startsWith('data:image/')) {
    const icon = document.createElement('img');
    icon.src = source;
    icon.alt = '';
    button.append(icon);
  }
  button.append(String(info?.name ?? 'Wallet').slice(0, 80));
  button.addEventListener('click', () => attempt(() => signIn(provider)));
  const item = document.createElement('li');
  item.append(button);
  byId('wallet-list').append(item);
  byId('no-wallet').hidden = true;
}

/** @param {Provider} provider */
async function signIn(provider) {
  showStatus('Waiting for the wallet …');
  const [address] = await provider.request({ method: 'eth_requestAccounts' });
  const chainId = Number(await provider.request({ method: 'eth_chainId' }));
  const { message } = await ask('/api/auth/challenge', { address, chainId });
  const bytes = new TextEncoder().encode(message);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const signature = await provider.request({
    method: 'personal_sign',
    params: [`0x${hex}`, address],
  });
  showStatus('Signing in …');
  const { wallet } = await ask('/api/auth/verify', { address, signature });
  askForConsent(wallet);
}

/** @param {string} wallet */
function askForConsent(wallet) {
  byId('account').textContent = wallet;
  byId('deny').hidden = port === null;
  show('request', 'consent');
  showStatus('');
}

async function allow() {
  const { code } = await ask('/api/auth/cli/authorize', { challenge, challenge_method: 'S256' });
  if (port !== null) return goBack({ code });
  byId('code').textContent = code;
  show('handover');
}

/**
 * Runs the work of a button with all buttons disabled, and shows an error.
 * @param {() => Promise<void>} work
 */
async function attempt(work) {
  const buttons = document.querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  byId('error').hidden = true;
  try {
    await work();
  } catch (cause) {
    const error = /** @type {Error & { code?: unknown }} */ (cause);
    if (error.code === 'invalid_session' || error.code === 'missing_session') askForWallet();
    // 4001 (EIP-1193): the user rejected the request.
    showError(
      error.code === 4001 ? 'The request was rejected in the wallet. Try again.' : error.message,
    );
  } finally {
    for (const button of document.querySelectorAll('button')) button.disabled = false;
  }
}

function askForWallet() {
  show('request', 'wallets');
  showStatus('');
}

async function start() {
  if (!isRequest()) {
    showError('This link is not complete. Run svc login again.');
    return;
  }
  const plain = machine.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 80);
  byId('machine').textContent = plain || '(no name)';
  byId('check').textContent = challenge.slice(0, 8);
  byId('allow').addEventListener('click', () => attempt(allow));
  byId('deny').addEventListener('click', () => goBack({ error: 'access_denied' }));
  byId('other').addEventListener('click', askForWallet);
  discoverWallets(addWallet);
  try {
    askForConsent((await ask('/api/v1/me')).wallet);
  } catch {
    askForWallet();
  }
}

start();
