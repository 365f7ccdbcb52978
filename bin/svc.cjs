#!/usr/bin/env node
require('../dist/cli/svc.cjs').run();
