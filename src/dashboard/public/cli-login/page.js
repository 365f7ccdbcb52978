// The page for `svc login`: a wallet of this browser signs in, its owner types the code that the terminal shows, and
// allows the command line. The page writes foreign text as text, never as markup.

/** The code under decision. */
let code = '';

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
  for (const id of ['wallets', 'signed-in', 'consent']) {
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
  askForCode(wallet);
}

/** @param {string} wallet */
function askForCode(wallet) {
  for (const element of document.querySelectorAll('.account')) element.textContent = wallet;
  show('signed-in');
  showStatus('');
}

/** @param {'allow' | 'refuse'} [decision] */
function decide(decision) {
  return ask('/api/auth/cli/authorize', { user_code: code, ...(decision && { decision }) });
}

async function askForConsent() {
  code = /** @type {HTMLInputElement} */ (byId('code')).value;
  const { name, requested_at } = await decide();
  const plain = name.replace(/[\p{Cc}\p{Cf}]/gu, '');
  byId('machine').textContent = plain || '(no name)';
  byId('asked').textContent = new Date(requested_at).toLocaleTimeString();
  byId('shown').textContent = code;
  show('consent');
}

const outcomes = {
  allow: 'Allowed. Continue in the terminal, which names the wallet. You can close this page.',
  refuse: 'Refused. You can close this page.',
};

/** @param {'allow' | 'refuse'} decision */
async function settle(decision) {
  await decide(decision);
  show();
  showStatus(outcomes[decision]);
}

/** Errors after which the wallet must sign in. */
const mustSignIn = new Set(['missing_session', 'invalid_session', 'wallet_session_required']);

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
    if (mustSignIn.has(String(error.code))) askForWallet();
    if (error.code === 'invalid_code') show('signed-in');
    // 4001 (EIP-1193): the user rejected the request.
    showError(
      error.code === 4001 ? 'The request was rejected in the wallet. Try again.' : error.message,
    );
  } finally {
    for (const button of document.querySelectorAll('button')) button.disabled = false;
  }
}

function askForWallet() {
  show('wallets');
  showStatus('');
}

async function start() {
  byId('entry').addEventListener('submit', (event) => {
    event.preventDefault();
    attempt(askForConsent);
  });
  byId('allow').addEventListener('click', () => attempt(() => settle('allow')));
  byId('refuse').addEventListener('click', () => attempt(() => settle('refuse')));
  byId('other').addEventListener('click', askForWallet);
  discoverWallets(addWallet);
  try {
    askForCode((await ask('/api/v1/me')).wallet);
  } catch {
    askForWallet();
  }
}

start();
