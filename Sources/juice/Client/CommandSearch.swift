import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka

/// Searches the topics for all records about the command with an id, from the newest back, until it has all that can belong
/// together.
final class CommandSearch {
    /// A record with the id.
    private struct Found {
        let store: Name
        /// The record of an input that it is about: itself, if it is a command.
        let subject: InputPosition
        /// Where that was forwarded from.
        var source: InputPosition?
        /// Whether it says what became of its subject.
        let isOutcome: Bool
        /// Whether nothing older can belong to it: it is a first answer, and not to an order that was cancelled before it came.
        var isBeginning = false
        var event: CommandEvent

        var key: CommandStory.Key { CommandStory.Key(store: store, isRestock: subject.topic == .restocks) }
    }

    private let clients: KafkaClients
    private let id: [UInt8]
    private let store: String?
    private let period: TopicReader.Period
    /// How much older a command may be than its repeat, in milliseconds.
    private let longestRepeat: Int64
    private let timeout: Duration

    private let journalReader = JournalReader(menu: .standard)
    private let commandDecoder = CommandDecoder(menu: .standard)

    private var found: [Found] = []
    /// Forwarded commands that came twice, of any id, and where the results say so.
    private var copies: [InputPosition: RecordPlace] = [:]
    /// How far each partition of the inputs is handled.
    private var positions: [InputPartition: Offset] = [:]
    /// The time of the oldest record that was read of each topic.
    private var oldest: [String: Int64] = [:]
    /// The time since which all was read.
    private var searchedSince: Int64 = 0

    /// More than these are too many to show.
    private static let most = 1000
    /// How much later than the duplicate window a repeat is still recognized, in milliseconds.
    private static let grace: Int64 = 5 * 60_000

    init(_ clients: KafkaClients, id: String, _ settings: Settings) throws(Failure) {
        (self.clients, self.id) = (clients, Array(id.utf8))
        (store, period, timeout) = (try settings[.store], try settings.period(), try settings[.timeout])
        longestRepeat = try DuplicateWindow(settings).age + Self.grace
    }

    /// Searches. Call it once.
    func run() throws(Failure) -> [CommandStory] {
        let topics = clients.topics
        let reader = try TopicReader(clients, topic: topics.results, topics.orders, topics.restocks, of: store, timeout: timeout)
        let (bar, total) = (ProgressBar(), reader.watermarks.offsetCount)
        defer { bar.clear() }
        var done = 0
        let isAll = try reader.visit(period, newestFirst: true) { window, times throws(Failure) in
            bar.show("searching", done, of: total)
            try reader.read(window, add)
            done += window.offsetCount
            searchedSince = times.lowerBound
            return !isComplete(retained: reader.watermarks)
        }
        if isAll { searchedSince = period.lowerBound }
        for letter in try DeadLetterReader(clients, timeout: timeout).all(where: isMeant) { add(letter) }
        return stories()
    }

    /// How far back was searched; nil if all was that is retained.
    var extent: String? {
        guard searchedSince > period.lowerBound else { return nil }
        let time = DateTime.text(milliseconds: searchedSince)
        return "searched back to \(time): `juice results --order-id` lists older answers to the same id, too"
    }

    /// The failure if nothing was found.
    var notFound: Failure {
        let topics = clients.topics
        let searched = [topics.results, topics.orders, topics.restocks].map { topic in
            "\(topic) \(oldest[topic].map { "since \(DateTime.text(milliseconds: $0))" } ?? "(no records)")"
        }
        let place = store.map { " of \(StoreID.visible($0))" } ?? ""
        let scope = period == TopicReader.always ? "all that is retained was searched" : "searched in that time"
        let hint =
            "\(scope): \(searched.joined(separator: ", ")), \(topics.deadLetters)"
            + (store == nil ? "" : "\nwithout --store, all stores are searched")
        return Failure(
            .notFound, "there is no order or restock \(String(decoding: id, as: UTF8.self).printable)\(place)", hint: hint)
    }

    /// Whether older records belong to none of the commands that were found.
    private func isComplete(retained logs: Logs) -> Bool {
        guard !found.isEmpty, found.count < Self.most else { return !found.isEmpty }
        let begun = Set(found.lazy.filter(\.isBeginning).map(\.key))
        let commands = Set(found.lazy.filter { !$0.isOutcome }.map(\.subject))
        // A sender's clock may be ahead.
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        return found.allSatisfy { found in
            let isOld = searchedSince < min(found.event.place.timestamp ?? 0, now) - longestRepeat
            return (isOld || begun.contains(found.key))
                && [found.subject, found.source].compactMap(\.self).allSatisfy { place in
                    let log = TopicPartition(topic: clients.topics[place.topic.topic], partition: place.partition)
                    return commands.contains(place) || !(logs[log]?.contains(place.offset) ?? false)
                }
        }
    }
}

// MARK: What is meant

extension CommandSearch {
    private func add(_ record: ConsumedRecord) {
        let topic = record.topic
        if let time = record.timestamp { oldest[topic] = min(oldest[topic] ?? .max, time) }
        guard let value = record.value, isMeant(record.timestamp) else { return }
        if let input = clients.topics.input(named: topic) {
            if let command = command(input, record, value) { found.append(command) }
        } else if let entry = try? journalReader.read(value, partition: record.partition, offset: record.offset) {
            entry.forEachPosition { positions[$0] = max(positions[$0] ?? 0, $1) }
            if case .copy(let place) = entry.note {
                let partition = place.partition ?? record.partition
                copies[InputPosition(topic: place.topic, partition: partition, offset: place.offset)] = RecordPlace(record)
            }
            if let journaled = entry.answer, journaled.head.id.bytes.elementsEqual(id), isMeant(journaled.head.store),
                let answer = try? journalReader.wholeAnswer()
            {
                found.append(self.answer(answer, record, value))
            }
        }
    }

    private func isMeant(_ store: BorrowedText) -> Bool { self.store.map { store.bytes.elementsEqual($0.utf8) } ?? true }

    private func isMeant(_ timestamp: Int64?) -> Bool { period.contains(timestamp ?? period.lowerBound) }

    /// Whether a dead letter has the id: as a command, or somewhere in what is none.
    private func isMeant(_ letter: DeadLetter) -> Bool {
        guard isMeant(letter.timestamp), store.map({ Name($0) == Name(letter.store) }) ?? true, let value = letter.value,
            let input = clients.topics.input(named: letter.source.topic)
        else { return false }
        let isCommand = value.withUnsafeBytes { value in
            (try? commandDecoder.command(in: value, of: input))?.id.bytes.elementsEqual(id)
        }
        let quoted = JSONText.line(String(decoding: id, as: UTF8.self))
        return isCommand ?? (Data(value).range(of: Data(quoted.utf8)) != nil)
    }

    /// The command in a record, if it is meant.
    private func command(_ topic: InputTopic, _ record: ConsumedRecord, _ value: UnsafeRawBufferPointer) -> Found? {
        guard let (kind, id) = try? commandDecoder.command(in: value, of: topic), id.bytes.elementsEqual(self.id),
            let store = StoreID.read(key: record.key), isMeant(store)
        else { return nil }
        func header(_ name: String) -> LetterPosition? {
            record.headers.last { $0.name == name }?.text.flatMap { LetterPosition($0, separator: "/") }
        }
        let (from, letter) = (header(HeaderName.forwardedFrom), header(HeaderName.resentFrom))
        return Found(
            store: Name(String(store)),
            subject: InputPosition(topic: topic, partition: record.partition, offset: record.offset),
            source: from.map { InputPosition(topic, $0) }, isOutcome: false,
            event: CommandEvent(
                event: "\(kind)", word: from == nil ? "\(kind)" : "forwarded", colour: nil, topic: record.topic,
                place: RecordPlace(record),
                text: (from.map { "from \($0.text)" } ?? String(decoding: value, as: UTF8.self))
                    + (letter.map { "  (resent from the dead letter \($0.text))" } ?? ""),
                members: [("forwardedFrom", from), ("resentFrom", letter)].compactMap { name, place in
                    place.map { (name, JSONText.line($0.headerText)) }
                }, record: Array(value)))
    }

    private func answer(_ answer: Answer, _ record: ConsumedRecord, _ value: UnsafeRawBufferPointer) -> Found {
        let topic = answer.command.topic == .restocks ? InputTopic.restocks : .orders
        let (word, colour) = AnswerLine.outcome(answer)
        return Found(
            store: Name(answer.store),
            subject: InputPosition(topic: topic, partition: record.partition, offset: answer.offset),
            source: answer.from.flatMap { LetterPosition($0, separator: "/") }.map { InputPosition(topic, $0) }, isOutcome: true,
            isBeginning: !answer.isDuplicate && answer.command != .cancel && answer.outcome != .rejected(reason: "cancelled"),
            event: CommandEvent(
                event: "answer", word: word, colour: colour, topic: record.topic, place: RecordPlace(record),
                text: answer.message + (answer.isDuplicate ? "  (repeated)" : ""), record: Array(value)))
    }

    private func add(_ letter: DeadLetter) {
        let source = letter.source
        guard let topic = clients.topics.input(named: source.topic), let partition = source.partition, let offset = source.offset
        else { return }
        found.append(
            Found(
                store: Name(letter.store),
                subject: InputPosition(topic: topic, partition: partition, offset: offset), isOutcome: true,
                event: CommandEvent(
                    event: "deadLetter", word: "dead letter", colour: .red, topic: clients.topics.deadLetters,
                    place: letter.place,
                    text: "\(letter.code), from \(source.text): \(letter.message)" + (letter.isResent ? "  (resent)" : ""),
                    members: letter.members, record: nil)))
    }
}

extension CommandDecoder {
    /// The kind and the id of the command in a record of an input, whether it is to be rejected or not.
    ///
    /// - Throws: why it cannot be answered.
    func command(
        in value: UnsafeRawBufferPointer, of topic: InputTopic
    ) throws(DeadLetterReason) -> (kind: CommandKind, id: BorrowedText) {
        switch decode(value, of: topic) {
        case .command(let kind, let id, _): (kind, id)
        case .undecodable(let reason): throw reason
        }
    }
}

extension TopicNames {
    /// The input of this name; nil if it is another topic.
    func input(named name: String) -> InputTopic? { InputTopic.allCases.first { self[$0.topic] == name } }
}

extension InputPosition {
    fileprivate init(_ topic: InputTopic, _ place: LetterPosition) {
        self.init(topic: topic, partition: place.partition, offset: place.offset)
    }
}

// MARK: The outcome

extension CommandSearch {
    /// The records by what they are about, in the order of the answers.
    private func stories() -> [CommandStory] {
        var matters = Dictionary(grouping: found, by: \.subject).mapValues { records in
            records.sorted { ($0.isOutcome ? 1 : 0, $0.event.place.offset) < ($1.isOutcome ? 1 : 0, $1.event.place.offset) }
        }
        // A command that was forwarded is shown with its copy.
        for (subject, records) in matters where copies[subject] == nil {
            guard let source = records.lazy.compactMap(\.source).first, let origin = matters[source],
                !origin.contains(where: \.isOutcome)
            else { continue }
            (matters[source], matters[subject]) = (nil, origin + records)
        }
        var parts: [CommandStory.Key: [CommandEvent]] = [:]
        let ordered = matters.values.compactMap { records in records.last.map { (records, last: $0, $0.event.place) } }
        for (records, last, _) in ordered.sorted(by: { ($0.2.timestamp ?? 0, $0.2.offset) < ($1.2.timestamp ?? 0, $1.2.offset) }) {
            var events = records.map(\.event)
            if let copy = copies[last.subject] {
                events.append(secondCopy(of: last.subject, copy))
            } else if !last.isOutcome {
                events[events.count - 1].text += "  (\(state(of: last.subject)))"
            }
            parts[last.key, default: []] += events
        }
        let id = String(decoding: id, as: UTF8.self)
        return parts.map { CommandStory(id: id, key: $0, events: $1) }.sorted {
            ($0.key.store.text, $0.key.isRestock ? 1 : 0) < ($1.key.store.text, $1.key.isRestock ? 1 : 0)
        }
    }

    /// What became of a command without an answer.
    private func state(of place: InputPosition) -> String {
        let position = positions[InputPartition(topic: place.topic, partition: place.partition)]
        let isWaiting = period.upperBound == TopicReader.always.upperBound && position.map { place.offset >= $0 } ?? true
        return isWaiting ? "not answered yet" : "no answer found"
    }

    private func secondCopy(of place: InputPosition, _ note: RecordPlace) -> CommandEvent {
        CommandEvent(
            event: "copy", word: "second copy", colour: nil, topic: clients.topics.results, place: note,
            text: "of \(clients.topics[place.topic.topic]) \(place.partition)@\(place.offset): the first one is answered",
            record: nil)
    }
}
