/// After a CRC error librdkafka (2.0.2 to 2.16) goes on at a wrong byte of the fetch response, so only the first error of a fetch
/// can be believed. Hence damage is measured by a consumer of its own, which fetches one batch at a time.
extension Consumer {
    /// The last offset of the damaged batch that begins at an offset, and of those that follow it directly. If that takes longer
    /// than `timeout`, it is one of the batch.
    ///
    /// - Parameter configuration: of any consumer.
    package static func lastDamaged(
        of partition: TopicPartition, from offset: Offset, timeout: Duration, configuration: KafkaConfiguration, hooks: ClientHooks
    ) -> Offset {
        // Brokers send the first batch of a fetch whole, whatever its size (KIP-74).
        let batchwise = configuration.merging([
            "fetch.message.max.bytes": "1", "fetch.error.backoff.ms": "0", "auto.offset.reset": "error",
            "enable.partition.eof": "true", "isolation.level": "read_uncommitted",
        ])
        guard let consumer = try? Consumer(configuration: batchwise, hooks: hooks) else { return offset }
        defer { consumer.close() }
        let deadline = ContinuousClock.now + timeout
        var (first, bad, step) = (offset, offset, Offset(1))
        // First in ever longer steps, then in ever shorter ones. What is damaged further on is another batch.
        while ContinuousClock.now < deadline {
            let damage = consumer.damage(of: partition, at: bad + step, until: deadline)
            if damage == bad + step, step == 1 { first = bad + step }
            if damage == first {
                (bad, step) = (bad + step, step * 2)
            } else if step > 1 {
                step /= 2
            } else {
                break
            }
        }
        return bad
    }

    /// Where the damaged batch begins that holds an offset; nil if the offset can be read, or is beyond the end of the log.
    private func damage(of partition: TopicPartition, at offset: Offset, until deadline: ContinuousClock.Instant) -> Offset? {
        do throws(KafkaError) {
            try assign([partition: offset])
            while ContinuousClock.now < deadline {
                for element in try poll(maxRecords: 1, timeout: .milliseconds(10)) {
                    switch element {
                    case .record, .endOfPartition: return nil
                    case .failure(_, let error) where error.code.isDamage: return error.offset
                    case .failure(_, let error): if error.code.isOffsetReset { return nil }
                    }
                }
            }
        } catch {}
        return nil
    }
}
