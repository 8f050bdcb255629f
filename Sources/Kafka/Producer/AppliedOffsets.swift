import Logging

/// Knows when a group's coordinator has applied the offsets of committed transactions.
///
/// The classic coordinator, the default of Kafka before 4.0, applies them some time after the commit, and by producer id
/// alone: it takes all offsets that this producer has sent by then. If those include offsets of the producer's next
/// transaction, and that is aborted, they stay committed, and what lies below them is never processed. So a
/// ``TransactionalProducer`` sends no offsets before those of its last transaction are applied.
///
/// One serves all producers of a ``TransactionSession``, and belongs to its thread.
public final class AppliedOffsets {
    private let group: GroupOffsets
    private let logger: Logger
    /// The offsets of the last transaction; empty if they may not be the group's any more.
    private var last: [TopicPartition: Offset] = [:]

    /// - Parameters:
    ///   - configuration: needs `group.id`.
    ///   - hooks: receives what no call returns.
    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks) throws(KafkaError) {
        group = try GroupOffsets(configuration: configuration, hooks: hooks)
        logger = hooks.logger
    }

    /// Others may have committed offsets since the last transaction.
    public func forget() { last = [:] }

    /// Serves the hooks. Call it now and then while nothing is committed: events of a client that is never polled pile up.
    public func poll() { group.pause(for: .zero) }

    /// A transaction with these offsets is committed.
    ///
    /// - Returns: a call that waits until they are applied; nil if there are none.
    func committed(_ offsets: [TopicPartition: Offset]) -> (@Sendable () throws(KafkaError) -> Void)? {
        defer { last = offsets }
        guard let evidence = Evidence(of: offsets, after: last) else { return nil }
        return { [group, logger] () throws(KafkaError) in try group.wait(for: evidence, logger) }
    }
}

extension AppliedOffsets {
    /// What shows that a transaction's offsets are applied. The coordinator applies all of them at once.
    struct Evidence: Sendable, Equatable {
        let partition: TopicPartition
        /// The partition's offset from then on. Nil if that is no news, as in a transaction that only claims partitions.
        let offset: Offset?

        /// - Parameters:
        ///   - offsets: the transaction's.
        ///   - last: those of the transaction before.
        init?(of offsets: [TopicPartition: Offset], after last: [TopicPartition: Offset]) {
            let moved = offsets.first { partition, offset in last[partition].map { $0 != offset } ?? false }
            guard let partition = moved?.key ?? offsets.keys.first else { return nil }
            self.partition = partition
            offset = moved?.value
        }
    }
}

extension GroupOffsets {
    /// The broker writes a transaction's markers within a few milliseconds.
    private static let pause = Duration.milliseconds(1)
    /// A group can take seconds to move to another coordinator. Each request that the wrong broker refuses costs a new client,
    /// with connections to all brokers, so the pauses double.
    private static let firstPauseAfterError = Duration.milliseconds(20)
    private static let longestPauseAfterError = Duration.milliseconds(200)
    private static let askTimeout = Duration.seconds(1)
    /// How long a coordinator that answers may keep it waiting. It takes another client's open transaction for that.
    private static let longestWait = Duration.seconds(5)
    /// How long to ask a coordinator that does not answer. The transaction that waits is over by then.
    private static let longestSilence = Duration.seconds(30)

    /// Waits until a transaction's offsets are applied.
    ///
    /// - Throws: ``KafkaError`` with ``KafkaError/Remedy/startOver`` if the coordinator does not say.
    fileprivate func wait(for evidence: AppliedOffsets.Evidence, _ logger: Logger) throws(KafkaError) {
        var answeringSince: ContinuousClock.Instant?
        var answeredAt = ContinuousClock.now
        var pauseAfterError = Self.firstPauseAfterError
        while true {
            pause(for: Self.pause)
            do throws(KafkaError) {
                if try isApplied(evidence) { return }
                answeredAt = .now
                answeringSince = answeringSince ?? answeredAt
            } catch {
                guard error.remedy == .retry, .now - answeredAt < Self.longestSilence else {
                    throw error.requiringAbort
                }
                answeringSince = nil
                pause(for: pauseAfterError)
                pauseAfterError = min(pauseAfterError * 2, Self.longestPauseAfterError)
            }
            guard let since = answeringSince, .now - since > Self.longestWait else { continue }
            // Waiting on would let any client that may commit for the group stop this one.
            logger.warning(
                "\(evidence.partition): another client keeps a transaction with offsets of this group open; going on"
            )
            return
        }
    }

    private func isApplied(_ evidence: AppliedOffsets.Evidence) throws(KafkaError) -> Bool {
        if let offset = evidence.offset {
            let committed = try committed(evidence.partition, .latest, timeout: Self.askTimeout)
            if committed == offset { return true }
            // Not applied yet, or others were applied since.
            if committed ?? 0 < offset { return false }
        }
        do throws(KafkaError) {
            _ = try committed(evidence.partition, .stable, timeout: Self.askTimeout)
            return true
        } catch {
            guard error.code == .unstableOffsetCommit else { throw error }
            return false
        }
    }
}
