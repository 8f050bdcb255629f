import JuiceMessages
import Kafka

/// Selects records of the results: the answers of all stores, or of one, and the notes if asked to.
struct AnswerFilter {
    /// A record of the topic. The answer is nil for a note, and if this version cannot read it.
    struct Entry {
        let answer: Answer?
        var isNote = false
        let bytes: [UInt8]
        let place: RecordPlace

        /// Whether it is an answer that changed the stock, not a repeat of one.
        var isChange: Bool { answer?.revision != nil && answer?.isDuplicate == false }
    }

    var store: String?
    var id: String?
    var showsNotes = false
    var showsOnlyChanges = false
    private let reader = JournalReader()

    func entry(_ record: ConsumedRecord) -> Entry? {
        guard let value = record.value else { return nil }
        if let store, !(record.key?.elementsEqual(store.utf8) ?? false) { return nil }
        let journal = try? reader.read(value)
        if let id, !(journal?.answer?.head.id.bytes.elementsEqual(id.utf8) ?? false) { return nil }
        let isNote = journal != nil && journal?.answer == nil
        guard showsNotes || !isNote else { return nil }
        let answer = isNote ? nil : try? reader.wholeAnswer()
        let entry = Entry(answer: answer, isNote: isNote, bytes: Array(value), place: RecordPlace(record))
        return isNote || !showsOnlyChanges || entry.isChange ? entry : nil
    }
}
