import JuiceMessages
import Testing

@testable import JuiceEngine

@Suite struct InputFingerprintsTests {
    /// A recreated topic may be read on at the old position for a while. Then only earlier records reveal it.
    @Test func aTakeoverComparesEachOfTheLatestRecords() {
        let input = InputPartition(topic: .orders, partition: 0)
        var evidence = InputFingerprints()
        for offset in 0..<Offset(100) { evidence.append(input, offset, .command(UInt64(offset))) }
        evidence.append(InputPartition(topic: .restocks, partition: 0), 7, .command(0))
        let extents = PartitionExtents(partition: 0, inputs: [input: 0..<100], results: 0..<0, stock: 0..<0)
        let latest = evidence.latest(in: extents)
        #expect(latest.ranges == [input: 68..<100])
        let reader = CommandReader(menu: .standard, partitionCount: 1)
        #expect(latest.mismatches(with: [], damaged: [], by: reader).map(\.offset) == [68])
        var thinned = evidence
        thinned.thin()
        #expect(thinned.ranges[input] == 35..<100)
    }
}
