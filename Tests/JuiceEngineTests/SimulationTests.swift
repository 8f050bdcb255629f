import Testing

@testable import JuiceEngine

/// Workers under random faults, audited from the committed topics alone.
@Suite struct SimulationTests {
    @Test(arguments: 0..<200) func everyCommandHasOneAnswerWhateverFails(seed: Int) {
        var simulation = Simulation(seed: UInt64(seed))
        simulation.run(steps: 1500)
        let faults = simulation.settleAndAudit()
        #expect(faults.isEmpty, "seed \(seed): \(faults.prefix(5))")
    }
}
