import JuiceMaker
import JuiceMessages

/// Carries out one command: decodes it, changes its store, writes its answer. What cannot be decoded it puts aside
/// as a dead letter.
///
/// In steady state it allocates nothing for an order: texts are views into the record, the answer is written into a
/// buffer that is kept.
final class CommandProcessor {
    private let maker: JuiceMaker
    private let decoder: CommandDecoder
    private let encoder: AnswerEncoder
    private var buffer = OutputBuffer()

    /// Whether dead letters are cut to ``largestAbridged``.
    var abridgesDeadLetters = false

    /// What an abridged dead letter keeps of key and value, in bytes. Well below Kafka's default limit of 1 MB.
    private static let largestAbridged = 256 * 1024
    /// The longest trace header that is copied to an answer, in bytes. The standard asks for at least 512.
    private static let longestTraceHeader = 8 * 1024

    init(menu: Menu, language: Language) {
        maker = JuiceMaker(menu: menu)
        decoder = CommandDecoder(menu: menu)
        encoder = AnswerEncoder(menu: menu, language: language)
    }

    /// Answers one record and applies it to its partition's state.
    func process(
        _ record: CommandRecord,
        state: PartitionState,
        log: some CommandLog,
        summary: inout TransactionSummary
    ) throws(LogError) {
        guard let store = StoreID.read(key: record.key) else {
            return try putAside(record, because: .badStore, log: log, summary: &summary)
        }
        buffer.removeAll()
        switch record.topic {
        case .orders:
            switch decoder.decodeOrder(record.value) {
            case .command(let order): make(order, for: store, &state.stores, &summary)
            case .rejected(let id, let reason): reject(.order, id, of: store, reason, &summary)
            case .undecodable(let reason):
                return try putAside(record, because: reason, log: log, summary: &summary)
            }
        case .restocks:
            switch decoder.decodeRestock(record.value) {
            case .command(let restock): apply(restock, to: store, &state.stores, &summary)
            case .rejected(let id, let reason): reject(.restock, id, of: store, reason, &summary)
            case .undecodable(let reason):
                return try putAside(record, because: reason, log: log, summary: &summary)
            }
        }
        try write(.results, record.partition, key: store, headers: traceHeaders(of: record), to: log)
    }

    /// Writes the stock of every store that the present transaction changed, once for each.
    func writeChanges(
        of state: PartitionState,
        log: some CommandLog,
        summary: inout TransactionSummary
    ) throws(LogError) {
        summary.storesChanged += state.stores.changes.count
        try state.stores.forEachChange { (store, levels, revision) throws(LogError) in
            buffer.removeAll()
            encoder.stock(store: store, revision: revision, levels: levels, into: &buffer)
            try write(.stock, state.partition, key: store, headers: [], to: log)
        }
    }
}

// MARK: - Commands

extension CommandProcessor {
    private func make(
        _ order: OrderCommand,
        for store: BorrowedText,
        _ stores: inout StoreTable,
        _ summary: inout TransactionSummary
    ) {
        stores.update(store) { fruits in
            switch maker.make(order.juice, quantity: order.quantity, from: &fruits) {
            case .made:
                encoder.juiceMade(order, store: store, left: fruits, into: &buffer)
                summary.juicesMade += 1
                return true
            case .outOfStock(let shortages):
                encoder.outOfStock(order, store: store, shortages: shortages, into: &buffer)
                summary.outOfStock += 1
                return false
            }
        }
    }

    private func apply(
        _ restock: RestockCommand,
        to store: BorrowedText,
        _ stores: inout StoreTable,
        _ summary: inout TransactionSummary
    ) {
        stores.update(store) { fruits in
            do throws(StockEditError) {
                try fruits.apply(restock.edit)
            } catch {
                reject(.restock, restock.id, of: store, Rejection(error), &summary)
                return false
            }
            encoder.restocked(restock, store: store, left: fruits, into: &buffer)
            summary.restocked += 1
            return true
        }
    }

    private func reject(
        _ kind: CommandKind,
        _ id: BorrowedText,
        of store: BorrowedText,
        _ reason: Rejection,
        _ summary: inout TransactionSummary
    ) {
        encoder.rejected(kind, id: id, store: store, rejection: reason, into: &buffer)
        summary.rejected += 1
    }
}

// MARK: - Records

extension CommandProcessor {
    private func write(
        _ topic: OutputTopic,
        _ partition: Int32,
        key: BorrowedText,
        headers: [Header],
        to log: some CommandLog
    ) throws(LogError) {
        let result = buffer.withUnsafeBytes { value in
            Result { () throws(LogError) in
                try log.produce(
                    OutputRecord(
                        topic: topic,
                        partition: partition,
                        key: key.bytes,
                        value: value,
                        headers: headers
                    )
                )
            }
        }
        try result.get()
    }

    /// Hands on a record that names no command: its bytes and headers untouched, and why and where from.
    private func putAside(
        _ record: CommandRecord,
        because reason: DeadLetterReason,
        log: some CommandLog,
        summary: inout TransactionSummary
    ) throws(LogError) {
        let reasons = [
            Header(name: HeaderName.errorCode, value: reason.code),
            Header(name: HeaderName.errorMessage, value: reason.message),
            Header(name: HeaderName.sourceTopic, value: log.name(of: record.topic)),
            Header(name: HeaderName.sourcePartition, value: String(record.partition)),
            Header(name: HeaderName.sourceOffset, value: String(record.offset)),
        ]
        let letter = contents(of: record)
        try log.produce(
            OutputRecord(
                topic: .deadLetters,
                partition: record.partition,
                key: letter.key,
                value: letter.value,
                headers: letter.headers + reasons
            )
        )
        summary.deadLetters += 1
    }

    /// What a dead letter keeps of a record: all of it. Of one that is too large for that, which only one that came
    /// compressed can be, it keeps the beginnings of key and value and none of the headers.
    private func contents(
        of record: CommandRecord
    ) -> (key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, headers: [Header]) {
        let headerSize = record.headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
        let size = headerSize + (record.key?.count ?? 0) + (record.value?.count ?? 0)
        guard abridgesDeadLetters, size > Self.largestAbridged else {
            return (record.key, record.value, record.headers)
        }
        let half = { (bytes: UnsafeRawBufferPointer?) in
            bytes.map { UnsafeRawBufferPointer(rebasing: $0.prefix(Self.largestAbridged / 2)) }
        }
        return (
            half(record.key), half(record.value),
            [Header(name: HeaderName.truncatedFrom, value: String(size))]
        )
    }

    private func traceHeaders(of record: CommandRecord) -> [Header] {
        guard !record.headers.isEmpty else { return [] }
        return record.headers.filter {
            ($0.name == HeaderName.traceparent || $0.name == HeaderName.tracestate)
                && ($0.value?.count ?? 0) <= Self.longestTraceHeader
        }
    }
}
