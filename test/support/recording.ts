import { open } from 'node:fs/promises';
import { McapWriter } from '@mcap/core';

/** Writes an MCAP file as rosbag2 does: positions of a robot as JSON, 5 each second. */
export async function writeRecording(file: string, seconds: number): Promise<void> {
  const handle = await open(file, 'w');
  let written = 0n;
  const writer = new McapWriter({
    writable: {
      position: () => written,
      async write(bytes: Uint8Array) {
        await handle.write(bytes);
        written += BigInt(bytes.byteLength);
      },
    },
  });
  await writer.start({ profile: 'ros2', library: 'test' });
  const encoder = new TextEncoder();
  const schema = { type: 'object', properties: { x: {}, y: {} } };
  const schemaId = await writer.registerSchema({
    name: 'position',
    encoding: 'jsonschema',
    data: encoder.encode(JSON.stringify(schema)),
  });
  const channelId = await writer.registerChannel({
    schemaId,
    topic: '/position',
    messageEncoding: 'json',
    metadata: new Map(),
  });
  for (let sequence = 0; sequence < 5 * seconds; sequence++) {
    const time = BigInt(sequence) * 200_000_000n;
    const position = { x: sequence / 8, y: sequence / 16, scan: 'x'.repeat(700) };
    const data = encoder.encode(JSON.stringify(position));
    await writer.addMessage({ channelId, sequence, logTime: time, publishTime: time, data });
  }
  await writer.end();
  await handle.close();
}

/** The smallest JPEG: 1 gray pixel. */
export const photo = Buffer.from(
  'ffd8ffdb004300030202020202030202020303030304060404040404080606050609080a0a090809090a0c0f0c0a0b0e0b09090d110d0e0f101011100a0c12131210130f101010ffc9000b080001000101011100ffcc000600101005ffda0008010100003f00d2cf20ffd9',
  'hex',
);
