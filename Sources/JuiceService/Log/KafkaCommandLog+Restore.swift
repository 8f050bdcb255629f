import JuiceEngine
import Kafka

extension KafkaCommandLog {
    func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        guard let share = input.share else { throw LogError(.startOver, "the partitions were given up") }
        let found = try waiting { () throws(KafkaError) in
            let reader =
                if let restorePointReader {
                    restorePointReader
                } else {
                    try RestorePointReader(
                        configuration: configuration,
                        worker: worker,
                        ownIDs: transactions.transactionalIDs,
                        partitionCount: topics.partitionCount,
                        group: input.consumer,
                        hooks: hooks
                    )
                }
            restorePointReader = reader
            return try reader.read(
                partitions,
                of: share,
                retention: retention,
                now: now,
                timeout: lookupTimeout.current
            )
        }
        restorePointReader = nil
        answered()
        return found
    }

    func openChangelog(_ positions: [ChangelogPosition]) throws(LogError) {
        try LogError.rethrowing { () throws(KafkaError) in
            changelog = try ChangelogReader(positions: positions, configuration: configuration, hooks: hooks)
        }
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        guard let changelog else { throw LogError(.startOver, "the changelog is not open") }
        return try LogError.rethrowing { () throws(KafkaError) in
            try changelog.read(timeout: .milliseconds(100))
        }
    }

    /// Drops what a restore in progress has opened.
    func endRestore() {
        restorePointReader = nil
        changelog = nil
    }
}
