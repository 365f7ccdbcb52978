// Encodes headers, transactions and receipts of JSON-RPC in RLP. The result can be wrong: only its hash decides.
import { concatBytes } from '@noble/hashes/utils.js';
import { hexToBytes } from '../proof/bytes.ts';
import { encodeRlp, quantityBytes, type RlpItem } from '../proof/rlp.ts';
import { dataOf, malformed, numberOf, objectOf, quantityOf } from './decode.ts';

/** Members of a header in order. Each fork since London added some at the end, so that the last ones may be absent. */
const HEADER = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot'],
  ...['logsBloom', 'difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData'],
  ...['mixHash', 'nonce', 'baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas'],
  ...['parentBeaconBlockRoot', 'requestsHash', 'blockAccessListHash', 'slotNumber'],
];

/** The numbers among them; the others are bytes. */
const HEADER_QUANTITIES = new Set([
  ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp'],
  ...['baseFeePerGas', 'blobGasUsed', 'excessBlobGas', 'slotNumber'],
]);

const DYNAMIC_FEE = 'chainId nonce maxPriorityFeePerGas maxFeePerGas gas to value input accessList';

/** Members of each transaction type in order. */
const TRANSACTIONS: Record<number, string | undefined> = {
  0: 'nonce gasPrice gas to value input v r s',
  1: 'chainId nonce gasPrice gas to value input accessList yParity r s',
  2: `${DYNAMIC_FEE} yParity r s`,
  3: `${DYNAMIC_FEE} maxFeePerBlobGas blobVersionedHashes yParity r s`,
  4: `${DYNAMIC_FEE} authorizationList yParity r s`,
  // OP Stack: a deposit.
  126: 'sourceHash from to mint value gas isSystemTx input',
  // Arbitrum: deposit, unsigned, contract, retry, submit retryable, internal.
  100: 'chainId requestId from to value',
  101: 'chainId from nonce maxFeePerGas gas to value input',
  102: 'chainId requestId from maxFeePerGas gas to value input',
  104: 'chainId nonce from maxFeePerGas gas to value input ticketId refundTo maxRefund submissionFeeRefund',
  105: 'chainId requestId from l1BaseFee depositValue maxFeePerGas gas retryTo retryValue beneficiary maxSubmissionFee refundTo retryData',
  106: 'chainId input',
};

/** The bytes among them, but for lists; the others are numbers. */
const TRANSACTION_BYTES = new Set([
  ...['to', 'input', 'from', 'sourceHash', 'address', 'requestId', 'ticketId', 'refundTo'],
  ...['retryTo', 'beneficiary', 'retryData'],
]);

type Json = Record<string, unknown>;

/** @throws ProviderError if a member is malformed. */
export function encodeHeader(block: Json): Uint8Array {
  const present = HEADER.filter((name) => block[name] != null);
  return encodeRlp(
    present.map((name) =>
      HEADER_QUANTITIES.has(name) ? quantityIn(block[name]) : bytesIn(block[name]),
    ),
  );
}

/** @throws ProviderError if the type is unknown, or a member is malformed. */
export function encodeTransaction(tx: Json): Uint8Array {
  const type = tx.type == null ? 0 : numberOf(tx.type, 'type');
  const members = TRANSACTIONS[type];
  if (members === undefined) throw malformed();
  const content = encodeRlp(members.split(' ').map((name) => memberOf(tx, name)));
  return type === 0 ? content : concatBytes(Uint8Array.of(type), content);
}

/** @throws ProviderError if a member is malformed, or there is no status (before the Byzantium fork). */
export function encodeReceipt(receipt: Json): Uint8Array {
  const type = receipt.type == null ? 0 : numberOf(receipt.type, 'type');
  // OP Stack: a receipt of a deposit has both since the Canyon fork, and neither before.
  const ofDeposit =
    receipt.depositReceiptVersion == null ? [] : ['depositNonce', 'depositReceiptVersion'];
  const content = encodeRlp([
    quantityBytes(quantityOf(receipt.status)),
    quantityIn(receipt.cumulativeGasUsed),
    bytesIn(receipt.logsBloom),
    listIn(receipt.logs).map((log) => {
      const { address, topics, data } = objectOf(log);
      return [bytesIn(address), listIn(topics).map(bytesIn), bytesIn(data)];
    }),
    ...ofDeposit.map((name) => quantityIn(receipt[name])),
  ]);
  return type === 0 ? content : concatBytes(Uint8Array.of(type), content);
}

/** Whether Polygon's node added this entry to the list: the block does not contain it as a transaction. */
export function isStateSync(tx: Json): boolean {
  return [tx.type ?? '0x0', tx.v, tx.r, tx.s].every(
    (value) => typeof value === 'string' && /^0x0+$/.test(value),
  );
}

function memberOf(object: Json, name: string): RlpItem {
  // Some nodes have no `yParity`; `v` is the same for every type but 0.
  const value = name === 'yParity' ? (object[name] ?? object.v) : object[name];
  switch (name) {
    case 'accessList':
      return listIn(value).map((entry) => {
        const { address, storageKeys } = objectOf(entry);
        return [bytesIn(address), listIn(storageKeys).map(bytesIn)];
      });
    case 'blobVersionedHashes':
      return listIn(value).map(bytesIn);
    case 'authorizationList':
      return listIn(value).map((entry) =>
        ['chainId', 'address', 'nonce', 'yParity', 'r', 's'].map((member) =>
          memberOf(objectOf(entry), member),
        ),
      );
    default:
      return TRANSACTION_BYTES.has(name) ? bytesIn(value) : quantityIn(value);
  }
}

function listIn(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw malformed();
  return value;
}

function bytesIn(value: unknown): Uint8Array {
  return hexToBytes(value == null ? '0x' : dataOf(value));
}

/** Null and false count as 0, true as 1. */
function quantityIn(value: unknown): Uint8Array {
  return quantityBytes(
    typeof value === 'boolean' || value == null ? Number(value ?? 0) : quantityOf(value),
  );
}
