import JuiceMaker
import JuiceMessages

/// Applies records of the changelogs to the state they tell of.
final class ChangelogApplier {
    private let factory: PartitionFactory
    private let stock: StockRestorer
    private let answers: RememberedAnswerReader

    init(factory: PartitionFactory) {
        self.factory = factory
        stock = StockRestorer(menu: factory.menu)
        answers = RememberedAnswerReader(
            encoder: AnswerEncoder(menu: factory.menu, language: factory.language)
        )
    }

    /// Applies records of one topic partition.
    ///
    /// - Parameter note: told of each stock record whether it could be restored from; nil says that it could.
    /// - Throws: ``LogError`` for stock that belongs in another partition.
    func apply(
        _ records: ArraySlice<ChangelogBatch.Record>,
        to state: PartitionState,
        now: Timestamp,
        note: (ChangelogBatch.Record, String?) -> Void
    ) throws(LogError) {
        for record in records {
            switch record.topic {
            case .stock:
                let fault = try applyStock(record, to: &state.applied.stores)
                note(record, fault.map { "stock record at \(Self.place(of: record)): \($0)" })
            case .results:
                applyAnswer(record, to: &state.applied.duplicates, now: now)
            }
        }
    }

    private static func place(of record: ChangelogBatch.Record) -> String {
        "partition \(record.partition), offset \(record.offset)"
    }

    private func applyStock(
        _ record: ChangelogBatch.Record,
        to stores: inout StoreTable
    ) throws(LogError) -> String? {
        guard let key = record.key else { return "it has no key" }
        let store = BorrowedText(key)
        // A tombstone is nothing this service writes: somebody reset the store to the menu's initial stock.
        guard let value = record.value else {
            stores.restore(store, FruitStore(menu: factory.menu), revision: 0)
            return nil
        }
        let owner = Murmur2.partition(of: key, count: factory.partitionCount)
        guard owner == record.partition else {
            throw LogError(
                .stop,
                "stock record at \(Self.place(of: record)): the store \"\(String(store))\" belongs in partition"
                    + " \(owner) of \(factory.partitionCount); the number of partitions must not change while there is stock"
            )
        }
        do throws(MalformedMessage) {
            let restored = try stock.restore(value, key: key)
            stores.restore(store, restored.levels, revision: restored.revision)
            return nil
        } catch {
            return error.description
        }
    }

    /// What is no answer is passed over: whoever wrote it, no command is known by it.
    private func applyAnswer(
        _ record: ChangelogBatch.Record,
        to duplicates: inout DuplicateMemory,
        now: Timestamp
    ) {
        guard let value = record.value, let answer = try? answers.read(value), !answer.isDuplicate else {
            return
        }
        let time = min(record.timestamp ?? now, now)
        duplicates.remember(
            CommandFingerprint(answer.command, store: answer.store, id: answer.id),
            answer.compact.map(FirstAnswer.compact) ?? .verbatim(Array(value)),
            at: time
        )
        duplicates.commit(at: time)
    }
}
