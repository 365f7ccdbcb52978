/** Loaded into a program with --import: says behind each question whether what is typed would be shown. */
const write = process.stderr.write.bind(process.stderr);

process.stderr.write = (/** @type {string} */ text, /** @type {any[]} */ ...rest) =>
  write(/: $/.test(text) ? `${text}(echo ${process.stdin.isRaw ? 'off' : 'on'}) ` : text, ...rest);
