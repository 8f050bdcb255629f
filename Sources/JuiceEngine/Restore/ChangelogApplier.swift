import JuiceMaker
import JuiceMessages

/// Builds partition states from the records of the changelogs.
final class ChangelogApplier {
    /// How long repeats of a command are known.
    let window: DuplicateWindow
    private let menu: Menu
    private let partitionCount: Int32
    private let stock: StockRestorer
    private let answers: RememberedAnswerReader
    // Kept from record to record.
    private var content = AnswerContent()

    /// - Parameters:
    ///   - encoder: writes the answers whose numbers are remembered.
    ///   - window: how long repeats of a command are known.
    ///   - partitionCount: how many partitions the stores are spread over.
    init(encoder: AnswerEncoder, menu: Menu, window: DuplicateWindow, partitionCount: Int32) {
        self.menu = menu
        self.window = window
        self.partitionCount = partitionCount
        stock = StockRestorer(menu: menu)
        answers = RememberedAnswerReader(encoder: encoder)
    }

    /// The state of a partition before any record is applied.
    func emptyState(at point: RestorePoint) -> PartitionState {
        PartitionState(point, menu: menu, window: window)
    }

    /// Applies records of one topic partition.
    ///
    /// - Parameter onStock: called with each stock record and what is wrong with it; nil if nothing is.
    /// - Throws: ``LogError`` for stock that belongs in another partition.
    func apply(
        _ records: ArraySlice<ChangelogBatch.Record>,
        to state: PartitionState,
        now: Timestamp,
        onStock: (ChangelogBatch.Record, String?) -> Void
    ) throws(LogError) {
        switch records.first?.topic {
        case .stock: try applyStock(records, to: &state.applied.stores, onStock: onStock)
        case .results: for record in records { applyAnswer(record, to: &state.applied.duplicates, now: now) }
        case nil: break
        }
    }

    /// Prefetches the next record's store while a record is applied: with a million stores, none is in a cache by chance.
    private func applyStock(
        _ records: ArraySlice<ChangelogBatch.Record>,
        to stores: inout StoreTable,
        onStock: (ChangelogBatch.Record, String?) -> Void
    ) throws(LogError) {
        var ahead = records.first?.key.map(ByteKeyTable.Key.init)
        for index in records.indices {
            let (record, key) = (records[index], ahead)
            if index + 1 < records.endIndex {
                ahead = records[index + 1].key.map(ByteKeyTable.Key.init)
                if let ahead { stores.prefetch(ahead) }
            }
            let fault = try applyStock(record, key, to: &stores)
            onStock(record, fault.map { "stock record at \(Self.place(of: record)): \($0)" })
        }
    }

    private static func place(of record: ChangelogBatch.Record) -> String {
        "partition \(record.partition), offset \(record.offset)"
    }

    private func applyStock(
        _ record: ChangelogBatch.Record,
        _ key: ByteKeyTable.Key?,
        to stores: inout StoreTable
    ) throws(LogError) -> String? {
        guard let key else { return "it has no key" }
        // This service writes no tombstones. An operator reset the store to the menu's initial stock.
        guard let value = record.value else {
            stores.restore(key, FruitStore(menu: menu), revision: 0)
            return nil
        }
        let owner = Murmur2.partition(of: key.bytes, count: partitionCount)
        guard owner == record.partition else {
            throw LogError(
                .stop,
                "stock record at \(Self.place(of: record)): the store \"\(String(BorrowedText(key.bytes)))\" belongs in partition"
                    + " \(owner) of \(partitionCount). docs/OPERATIONS.md#stock-in-the-wrong-partitions says what to do"
            )
        }
        do throws(MalformedMessage) {
            let restored = try stock.restore(value, key: key.bytes)
            stores.restore(key, restored.levels, revision: restored.revision)
            return nil
        } catch {
            return error.description
        }
    }

    /// Skips records that are no answers: no command can be recognised by them.
    private func applyAnswer(
        _ record: ChangelogBatch.Record,
        to duplicates: inout DuplicateMemory,
        now: Timestamp
    ) {
        guard let value = record.value, let answer = try? answers.read(value, into: &content),
            !answer.head.isDuplicate,
            answer.role != .afterCancel
        else { return }
        let head = answer.head
        duplicates.restore(
            head.command,
            CommandFingerprint(
                answer.role == .cancel ? .order : head.command,
                store: head.store,
                id: head.id
            ),
            answer.hasContent
                ? duplicates.pack(content, orElse: value, head) : duplicates.pack(value, head),
            answeredAt: min(record.timestamp ?? now, now)
        )
    }
}
