import JuiceDomain
import Kafka
import Testing

@testable import juice

/// Tests how the records of several partitions are ordered by time, without Kafka.
struct TimelineTests {
    /// Partitions, with the times of their records. Their clocks differ, and sometimes go back.
    private static func logs(seed: UInt64, isBusy: Bool) -> [Int32: [Int64]] {
        var random = SeededGenerator(seed: seed)
        return Dictionary(
            uniqueKeysWithValues: (0..<Int32.random(in: 1...4, using: &random)).map { partition in
                var time = Int64(1_700_000_000_000)
                let times = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                    // Silence of days, or many in a millisecond.
                    let step = isBusy ? Int64.random(in: -2...2, using: &random) : .random(in: -1000...100_000_000, using: &random)
                    time += step
                    return time
                }
                return (partition, times)
            })
    }

    private func place(_ partition: Int32) -> TopicPartition { TopicPartition(topic: "t", partition: partition) }

    @Test(arguments: 1...40, [true, false]) func windowsAreInTheOrderOfTime(seed: UInt64, isBusy: Bool) throws {
        let logs = Self.logs(seed: seed, isBusy: isBusy)
        func sorted(_ window: Logs) -> [String] {
            var timeline = Timeline<String>(from: 0)
            for (partition, range) in window {
                for offset in range {
                    let time = logs[partition.partition]?[Int(offset)] ?? 0
                    timeline.add(time, partition.partition, offset) { _ in "\(partition) \(offset)" }
                }
            }
            return timeline.sorted
        }
        let all = Dictionary(uniqueKeysWithValues: logs.map { (place($0), Offset(0)..<Offset($1.count)) })
        func visited(newestFirst: Bool) throws -> [Logs] {
            var windows: [Logs] = []
            _ = try all.visit(
                TopicReader.always, newestFirst: newestFirst, most: 50,
                split: { part, time in
                    part.split(
                        at: Dictionary(
                            uniqueKeysWithValues: logs.map { log in
                                (place(log.key), Offset(log.value.firstIndex { $0 >= time } ?? log.value.count))
                            }))
                },
                { window, _ in
                    windows.append(window)
                    return true
                })
            return windows
        }
        let windows = try visited(newestFirst: false)
        #expect(windows.flatMap(sorted) == sorted(all))
        #expect(try visited(newestFirst: true) == windows.reversed())
        if !isBusy { #expect(windows.map(\.offsetCount).allSatisfy { (1...50).contains($0) }) }
    }

    @Test func aPartitionKeepsItsOrder() {
        var timeline = Timeline<String>(from: 0)
        for (found, timestamp, partition) in [("a", 10, 0), ("b", 5, 0), ("c", 7, 1), ("d", 11, 1)] as [(String, Int64, Int32)] {
            timeline.add(timestamp, partition, timestamp) { _ in found }
        }
        // Offsets decide between equal times: b counts as 10, too.
        #expect(timeline.sorted == ["c", "b", "a", "d"])
    }
}
