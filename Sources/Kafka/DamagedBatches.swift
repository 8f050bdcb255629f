/// After a CRC error librdkafka (2.0.2 to 2.16) goes on at a wrong byte of the fetch response, so only the first error of a fetch
/// can be believed. Hence damage is measured by a consumer of its own, which fetches one batch at a time.
extension Consumer {
    /// The last offset of the damaged batch that begins at an offset, and of those that follow it directly. If that takes longer
    /// than `timeout`, it is one of the batch. What this consumer reads is left alone.
    package func lastDamaged(of partition: TopicPartition, from offset: Offset, timeout: Duration) -> Offset {
        guard let probe = try? makeProbe() else { return offset }
        defer { probe.close() }
        let deadline = ContinuousClock.now + timeout
        var (first, bad, step, isShrinking) = (offset, offset, Offset(1), false)
        // First in ever longer steps, then in ever shorter ones. What is damaged further on is another batch.
        while ContinuousClock.now < deadline {
            let error = probe.damage(of: partition, at: bad + step, until: deadline)
            // A failed assertion does not say where its batch begins. So steps only get shorter once one has found a record.
            let isUnparsable = error?.code == .unparsable && error?.offset == bad + step
            let damage = isUnparsable ? first : error?.offset
            if damage == bad + step, step == 1 { (first, isShrinking) = (bad + step, false) }
            if damage == first {
                (bad, step) = (bad + step, isShrinking && isUnparsable ? max(1, step / 2) : step * 2)
            } else if step > 1 {
                (step, isShrinking) = (step / 2, true)
            } else {
                break
            }
        }
        return bad
    }

    /// A consumer that looks at single batches.
    func makeProbe() throws(KafkaError) -> Consumer {
        let properties = [
            "auto.offset.reset": "error", "enable.partition.eof": "true", "enable.auto.commit": "false",
            "isolation.level": "read_uncommitted",
        ]
        let hooks = ClientHooks(logger: hooks.logger, logCeiling: .info)
        return try Consumer(configuration: configuration.batchwise.merging(properties), hooks: hooks)
    }

    /// Why the batch that holds an offset cannot be read; nil if the offset can be read, or is beyond the end of the log.
    func damage(of partition: TopicPartition, at offset: Offset, until deadline: ContinuousClock.Instant) -> KafkaError? {
        // At times librdkafka fetches nothing more behind an error. A new assignment makes it go on.
        var patience = Duration.seconds(1)
        do throws(KafkaError) {
            while ContinuousClock.now < deadline {
                try assign([partition: offset])
                let end = min(deadline, ContinuousClock.now + patience)
                patience *= 2
                while ContinuousClock.now < end {
                    for element in try poll(maxRecords: 1, timeout: .milliseconds(10)) {
                        switch element {
                        case .record, .endOfPartition: return nil
                        case .failure(_, let error) where error.code.isDamage: return error
                        // One at another offset is an earlier look's, which took damaged bytes for an offset.
                        case .failure(_, let error): if error.code.isOffsetReset, error.offset == offset { return nil }
                        }
                    }
                }
            }
        } catch {}
        return nil
    }
}

extension KafkaConfiguration {
    /// For a consumer that fetches one batch at a time: brokers send the first batch of a fetch whole, whatever its size (KIP-74).
    var batchwise: KafkaConfiguration {
        merging(["fetch.message.max.bytes": "1", "max.partition.fetch.bytes": "1", "fetch.error.backoff.ms": "0"])
    }

    var isBatchwise: Bool { self["fetch.message.max.bytes"] == "1" }
}

extension KafkaError {
    static func unparsable(_ partition: TopicPartition, at offset: Offset?) -> KafkaError {
        let reason = "\(partition): librdkafka fails an assertion when it parses the batch of records at offset \(offset ?? 0)"
        return KafkaError(code: .unparsable, message: reason).with(\.offset, offset)
    }
}
