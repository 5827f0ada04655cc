// The floors of the house. Arrows run one way: lib → backends → (native addon); contract.ts is the ground floor.
const floor = (name, path, allowed, comment) => ({
  name,
  severity: 'error',
  comment,
  from: { path },
  to: { path: '^(lib|backends|bench|tests)/', pathNot: allowed },
});

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: ['^lib/index\\.ts$', '^lib/dhp/index\\.ts$', 'heart.*\\.ts$'] },
      to: {},
    },
    {
      name: 'no-unlisted',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    {
      name: 'no-dev-in-product',
      severity: 'error',
      from: { path: '^(lib|backends)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    floor('contract-imports-nothing', '^backends/contract\\.ts$', ['^$'], 'the contract imports nothing'),
    floor(
      'backends-know-the-contract',
      '^backends/(?!contract)',
      ['^backends/'],
      'a backend imports the contract and its driver, nothing of lib',
    ),
    floor(
      'tensor-on-contract',
      '^lib/tensor\\.ts$',
      ['^backends/contract\\.ts$', '^lib/ops/'],
      'tensor stands on the contract',
    ),
    floor(
      'ops-on-contract',
      '^lib/ops/',
      ['^backends/contract\\.ts$', '^lib/ops/', '^lib/tensor\\.ts$'],
      'ops stand on the contract',
    ),
    floor(
      'dispatch-on-ops',
      '^lib/dispatch/',
      ['^backends/', '^lib/ops/', '^lib/tensor\\.ts$', '^lib/dispatch/'],
      'dispatch stands on ops and the backends',
    ),
    floor('dhp-stands-alone', '^lib/dhp/', ['^lib/dhp/'], 'dhp knows nothing of the rest of the package'),
    floor(
      'jobs-on-dispatch-and-dhp',
      '^lib/jobs/',
      ['^backends/(contract|half|limits)\\.ts$', '^lib/(ops|dispatch|dhp|jobs)/', '^lib/tensor\\.ts$'],
      'jobs stand on dispatch and dhp',
    ),
    { name: 'nobody-imports-the-cli', severity: 'error', from: { pathNot: '^lib/cli/' }, to: { path: '^lib/cli/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
