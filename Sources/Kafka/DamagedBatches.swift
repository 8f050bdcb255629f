/// Only the first error that librdkafka reports for damaged records in a fetch is reliable (2.0.2 to 2.16), and it does not say
/// where their batch ends (issue 5581). So a separate consumer measures the damage, fetching one batch at a time.
extension Consumer {
    /// The last offset of the damaged batch that begins at `offset`, and of damaged batches directly after it. If finding it takes
    /// longer than `timeout`, returns an earlier damaged offset. Does not affect what this consumer reads.
    package func lastDamaged(of partition: TopicPartition, from offset: Offset, timeout: Duration) -> Offset {
        guard let probe = try? makeProbe() else { return offset }
        defer { probe.close() }
        let deadline = ContinuousClock.now + timeout
        return Self.lastDamaged(from: offset) {
            .now < deadline ? probe.damage(of: partition, at: $0, until: deadline)?.offset : nil
        }
    }

    /// - Parameter damage: the first offset of the damaged batch that holds an offset; nil if the offset can be read.
    static func lastDamaged(from offset: Offset, by damage: (Offset) -> Offset?) -> Offset {
        var (first, bad, step) = (offset, offset, Offset(1))
        // Doubles its steps, then halves them. Damage that begins elsewhere is another batch.
        while true {
            let found = damage(bad + step)
            if found == bad + 1, step == 1 { first = bad + 1 }
            if found == first {
                (bad, step) = (bad + step, step * 2)
            } else if step > 1 {
                step /= 2
            } else {
                return bad
            }
        }
    }

    private func makeProbe() throws(KafkaError) -> Consumer {
        let properties = [
            "auto.offset.reset": "error", "enable.partition.eof": "true", "enable.auto.commit": "false",
            "isolation.level": "read_uncommitted", "fetch.error.backoff.ms": "0",
            // Brokers send the first batch of a fetch whole, whatever its size (KIP-74). The two names mean one property.
            "fetch.message.max.bytes": "1", "max.partition.fetch.bytes": "1",
        ]
        let hooks = ClientHooks(logger: hooks.logger, logCeiling: .info)
        return try Consumer(configuration: configuration.merging(properties), hooks: hooks)
    }

    /// Why the batch that holds an offset cannot be read; nil if the offset can be read, or is beyond the end of the log.
    private func damage(of partition: TopicPartition, at offset: Offset, until deadline: ContinuousClock.Instant) -> KafkaError? {
        // Sometimes librdkafka fetches nothing more after an error. A new assignment makes it go on.
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
                        // An error at another offset belongs to an earlier look.
                        case .failure(_, let error): if error.code.isOffsetReset, error.offset == offset { return nil }
                        }
                    }
                }
            }
        } catch {}
        return nil
    }
}
