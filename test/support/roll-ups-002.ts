/** A roll-up as schema 2 stored it, the names of its day, and the columns that schema 3 has for it. */
export const oldRollup = {
  bytes: Buffer.from(
    '020002000000010100000001020000000000001c400200000000000000004000000000000044400000000000004e40000000000000993c010000000000000840000000000000f8bf9a9999999999b93fcccccccccccc34bc',
    'hex',
  ),
  names: '{"states":["busy","__proto__","idle"],"metrics":["t","x","unused"]}',
  decoded: {
    battery: '[2,40,60,100]',
    states: '{"busy":2,"__proto__":1}',
    metrics: `{"t":[3,-1.5,0.1,${-1.5 + 0.1 + 0.1}],"x":[1,7,7,7]}`,
  },
};
