import Testing

@testable import Kafka

@Suite struct WrittenOffsetsTests {
    private let offsets = WrittenOffsets()
    private let place = TopicPartition(topic: "results", partition: 3)

    @Test func aLogThatGrowsHasLostNothing() {
        offsets.add(0...4, to: place)
        offsets.add(6...6, to: place)
        #expect(offsets.takeNews() == nil)
        #expect(!offsets.takeLoss(of: place, endingAt: 7))
    }

    @Test func recordsOfATransactionMayHaveMarkersBetweenThem() {
        offsets.add(0...4, to: place)
        offsets.begin()
        #expect(offsets.transaction(in: place).isEmpty)
        offsets.add(6...7, to: place)
        offsets.add(9...9, to: place)
        #expect(offsets.transaction(in: place) == [6..<8, 9..<10])
    }

    @Test func recordsAtLowerOffsetsAreALossThatIsToldOnce() {
        offsets.add(0...4, to: place)
        offsets.add(0...9, to: TopicPartition(topic: "results", partition: 2))
        offsets.add(3...5, to: place)
        #expect(offsets.takeNews() == place)
        #expect(offsets.takeNews() == nil)
        #expect(offsets.takeLoss(of: place, endingAt: 6))
        #expect(!offsets.takeLoss(of: place, endingAt: 6))
        offsets.add(7...7, to: place)
        #expect(offsets.takeNews() == nil)
    }

    @Test func anEndBeforeWhatWasWrittenIsALossThatIsToldOnce() {
        offsets.add(0...4, to: place)
        #expect(offsets.takeLoss(of: place, endingAt: 4))
        #expect(!offsets.takeLoss(of: place, endingAt: 4))
        offsets.add(4...4, to: place)
        #expect(offsets.takeNews() == nil)
    }
}
