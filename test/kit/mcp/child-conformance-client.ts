// The command that a conformance suite starts for each client scenario. It forwards the request to the test's process,
// where the client runs: a child with a runtime would take seconds for each of the scenarios.

const { PAWL_CLIENT_RUNNER = '', MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_CONTEXT = '{}' } = process.env
const response = await fetch(PAWL_CLIENT_RUNNER, {
  method: 'POST',
  body: JSON.stringify({
    url: process.argv[2],
    scenario: MCP_CONFORMANCE_SCENARIO,
    context: JSON.parse(MCP_CONFORMANCE_CONTEXT),
  }),
})
console.log(await response.text())
process.exitCode = response.ok ? 0 : 1
