import Foundation
import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka

/// Searches the topics for all records about the command with an id.
///
/// The results are the journal: an answer says where its command stands, and how far the commands are handled. So the search reads
/// the newest answers first, then the commands that are not answered yet, and then older answers, until it has all that can belong
/// together. Only if it finds nothing, it reads all commands.
final class CommandSearch {
    /// A command as it was sent or forwarded.
    private struct Sent {
        let place: InputPosition
        let timestamp: Int64?
        let kind: CommandKind
        let key: CommandStory.Key
        let value: [UInt8]
        let source: InputPosition?
        /// The dead letter that it was resent from.
        let letter: String?
    }

    private struct Answered {
        let answer: Answer
        let bytes: [UInt8]
        let place: RecordPlace

        var key: CommandStory.Key { CommandStory.Key(store: Name(answer.store), isRestock: answer.command == .restock) }

        /// Whether nothing older can belong to it: it is the first answer, and not to an order that was cancelled before it came.
        var isBeginning: Bool {
            !answer.isDuplicate && answer.command != .cancel && answer.outcome != .rejected(reason: "cancelled")
        }

        var command: InputPosition {
            InputPosition(topic: key.isRestock ? .restocks : .orders, partition: place.partition, offset: answer.offset)
        }

        var source: InputPosition? {
            let source = answer.from.flatMap { ForwardSource(Array($0.utf8)) }
            return source.map { InputPosition(topic: command.topic, partition: $0.partition, offset: $0.offset) }
        }
    }

    private let clients: KafkaClients
    private let id: [UInt8]
    private let store: String?
    private let period: TopicReader.Period
    /// How much older a command may be than its repeat, in milliseconds.
    private let longestRepeat: Int64
    private let timeout: Duration
    private let bar = ProgressBar()

    private let answerDecoder = AnswerDecoder()
    private let journalReader = JournalReader(menu: .standard)
    private let commandDecoder = CommandDecoder(menu: .standard)
    private var inputs: [InputTopic: TopicReader] = [:]

    private var answers: [Answered] = []
    /// Commands without an answer.
    private var unanswered: [Sent] = []
    /// The commands of answers, and those that were forwarded.
    private var commands: [InputPosition: Sent] = [:]
    private var letters: [DeadLetter] = []
    /// Forwarded commands that came twice, of any id, and where the results say so.
    private var copies: [(command: InputPosition, note: RecordPlace)] = []
    /// How far each partition of the inputs is handled.
    private var positions: [InputPartition: Offset] = [:]
    /// The time of the oldest record that was read of each topic.
    private var oldest: [String: Int64] = [:]
    /// The time since which all answers were read; nil if all were.
    private var searchedSince: Int64?

    /// More than these are too many to show.
    private static let mostAnswers = 1000
    /// Commands that are so close in their partition are read at once.
    private static let nearby: Offset = 1000
    /// How much later than the duplicate window a repeat is still recognized, in milliseconds.
    private static let grace: Int64 = 5 * 60_000

    init(_ clients: KafkaClients, id: String, _ settings: Settings) throws(Failure) {
        (self.clients, self.id) = (clients, Array(id.utf8))
        (store, period, timeout) = (try settings[.store], try settings.period(), try settings[.timeout])
        longestRepeat = try DuplicateWindow(settings).age + Self.grace
    }

    /// Searches. Call it once.
    func run() throws(Failure) -> [CommandStory] {
        defer { bar.clear() }
        try searchAnswers()
        if answers.isEmpty && unanswered.isEmpty { try searchCommands() }
        try readCommands(
            of: answers.flatMap { [$0.command, $0.source].compactMap(\.self) } + unanswered.compactMap(\.source)
                + copies.map(\.command))
        letters = try DeadLetterReader(clients, timeout: timeout).all { letter in
            note(letter.timestamp, in: clients.topics.deadLetters)
            return isMeant(letter)
        }
        return stories()
    }

    /// How far back was searched; nil if all was that is retained.
    var extent: String? {
        searchedSince.map {
            "searched back to \(DateTime.text(milliseconds: $0)): `juice results --order-id` lists older answers to the same id, too"
        }
    }

    /// The failure if nothing was found.
    var notFound: Failure {
        let topics = clients.topics
        let searched = [topics.results, topics.orders, topics.restocks, topics.deadLetters].map { topic in
            "\(topic) \(oldest[topic].map { "since \(DateTime.text(milliseconds: $0))" } ?? "(no records)")"
        }
        let place = store.map { " of \(StoreID.visible($0))" } ?? ""
        let scope = period == TopicReader.always ? "all that is retained was searched" : "searched in that time"
        let hint =
            "\(scope): \(searched.joined(separator: ", "))" + (store == nil ? "" : "\nwithout --store, all stores are searched")
        return Failure(
            .notFound, "there is no order or restock \(String(decoding: id, as: UTF8.self).printable)\(place)", hint: hint)
    }
}

// MARK: Answers

extension CommandSearch {
    private func searchAnswers() throws(Failure) {
        let topic = clients.topics.results
        let reader = try TopicReader(clients, topic: topic, of: store, timeout: timeout)
        let logs = try reader.logs(in: period)
        let total = logs.values.reduce(0) { $0 + $1.count }
        var (done, isFirst) = (0, true)
        try reader.readBackwards(logs) { window throws(Failure) in
            var found: [Answered] = []
            var positions: [InputPartition: Offset] = [:]
            var starts: [Int32: Int64] = [:]
            try read(reader, topic, window, done: done, of: total) { record in
                if let time = record.timestamp, starts[record.partition] == nil { starts[record.partition] = time }
                if let answer = answer(in: record, &positions) { found.append(answer) }
                if found.count > 2 * Self.mostAnswers { found.removeFirst(Self.mostAnswers) }
            }
            done += window.values.reduce(0) { $0 + $1.count }
            answers = found + answers
            self.positions.merge(positions) { newer, _ in newer }
            // The last answers of a period that has ended say nothing of what is not answered yet.
            if isFirst, period.upperBound == TopicReader.always.upperBound { try readUnanswered() }
            isFirst = false
            let unread = logs.filter { window[$0.key]?.lowerBound != $0.value.lowerBound }
            let since = unread.keys.map { starts[$0.partition] ?? .max }.max()
            guard isComplete(since: since) else { return false }
            searchedSince = since
            return true
        }
    }

    /// Whether older answers belong to none of the commands that were found.
    ///
    /// - Parameter time: the time since which all answers were read; nil if all were.
    private func isComplete(since time: Int64?) -> Bool {
        guard let time else { return true }
        if answers.count >= Self.mostAnswers { return true }
        let times = answers.map { ($0.key, $0.place.timestamp) } + unanswered.map { ($0.key, $0.timestamp) }
        let begun = Set(answers.filter(\.isBeginning).map(\.key))
        // A sender's clock may be ahead.
        let now = Int64(Date.now.timeIntervalSince1970 * 1000)
        return !times.isEmpty
            && times.allSatisfy { key, found in begun.contains(key) || time < min(found ?? 0, now) - longestRepeat }
    }

    /// The answer in a record, if it is meant. Also notes which command was handled.
    private func answer(in record: ConsumedRecord, _ positions: inout [InputPartition: Offset]) -> Answered? {
        guard let value = record.value, let entry = try? journalReader.read(value) else { return nil }
        entry.forEachPosition(in: record.partition) { positions[$0] = $1 }
        if case .note(.copy(let place)) = entry {
            let partition = place.partition ?? record.partition
            copies.append((InputPosition(topic: place.topic, partition: partition, offset: place.offset), RecordPlace(record)))
        }
        guard case .answer(let journaled) = entry, journaled.head.id.bytes.elementsEqual(id), isMeant(journaled.head.store),
            isMeant(record.timestamp), let answer = try? answerDecoder.decode(value)
        else { return nil }
        return Answered(answer: answer, bytes: Array(value), place: RecordPlace(record))
    }

    private func isMeant(_ store: BorrowedText) -> Bool { self.store.map { store.bytes.elementsEqual($0.utf8) } ?? true }

    private func isMeant(_ timestamp: Int64?) -> Bool { period.contains(timestamp ?? period.lowerBound) }
}

// MARK: Commands

extension CommandSearch {
    /// Reads what follows the positions.
    private func readUnanswered() throws(Failure) {
        for topic in InputTopic.allCases {
            let reader = try input(topic)
            var tails: [TopicPartition: Range<Offset>] = [:]
            for (partition, log) in try reader.logs(in: period) {
                guard let position = positions[InputPartition(topic: topic, partition: partition.partition)] else { continue }
                tails[partition] = log.clamped(to: position..<max(position, log.upperBound))
            }
            try collect(topic, reader, tails)
        }
    }

    /// Reads all commands.
    private func searchCommands() throws(Failure) {
        for topic in InputTopic.allCases {
            let reader = try input(topic)
            try collect(topic, reader, try reader.logs(in: period))
        }
        // Those that were forwarded are shown with what became of them.
        let sources = Set(unanswered.compactMap(\.source))
        unanswered.removeAll { sources.contains($0.place) }
    }

    private func collect(
        _ topic: InputTopic, _ reader: TopicReader, _ ranges: [TopicPartition: Range<Offset>]
    ) throws(Failure) {
        let total = ranges.values.reduce(0) { $0 + $1.count }
        try read(reader, clients.topics[topic.topic], ranges, done: 0, of: total) { record in
            guard unanswered.count < Self.mostAnswers, isMeant(record.timestamp) else { return }
            if let sent = command(topic, record) { unanswered.append(sent) }
        }
    }

    /// Reads the commands at these places. Some may not be retained.
    private func readCommands(of places: [InputPosition]) throws(Failure) {
        for (topic, places) in Dictionary(grouping: Set(places), by: \.topic) {
            let reader = try input(topic)
            var offsets: [TopicPartition: [Offset]] = [:]
            for place in places.sorted(by: { $0.offset < $1.offset }) {
                let partition = TopicPartition(topic: clients.topics[topic.topic], partition: place.partition)
                if reader.watermarks[partition]?.contains(place.offset) ?? false {
                    offsets[partition, default: []].append(place.offset)
                }
            }
            while !offsets.isEmpty {
                var ranges: [TopicPartition: Range<Offset>] = [:]
                for (partition, rest) in offsets {
                    let near = rest.prefix { $0 < rest[0] + Self.nearby }
                    ranges[partition] = rest[0]..<rest[near.count - 1] + 1
                    offsets[partition] = near.count < rest.count ? Array(rest.dropFirst(near.count)) : nil
                }
                try reader.read(ranges) { record in
                    if let sent = command(topic, record) { commands[sent.place] = sent }
                }
            }
        }
    }

    private func input(_ topic: InputTopic) throws(Failure) -> TopicReader {
        if let reader = inputs[topic] { return reader }
        let reader = try TopicReader(clients, topic: clients.topics[topic.topic], timeout: timeout)
        inputs[topic] = reader
        return reader
    }

    /// The command in a record, if it is meant.
    private func command(_ topic: InputTopic, _ record: ConsumedRecord) -> Sent? {
        guard let value = record.value, let (kind, isMeant) = kind(of: topic, value), isMeant,
            let store = StoreID.read(key: record.key), self.isMeant(store)
        else { return nil }
        let headers = record.headers
        func header(_ name: String) -> RecordHeader? { headers.last { $0.name == name } }
        let source = header(HeaderName.forwardedFrom)?.value.flatMap { ForwardSource($0) }
        return Sent(
            place: InputPosition(topic: topic, partition: record.partition, offset: record.offset), timestamp: record.timestamp,
            kind: kind, key: CommandStory.Key(store: Name(String(store)), isRestock: topic == .restocks), value: Array(value),
            source: source.map { InputPosition(topic: topic, partition: $0.partition, offset: $0.offset) },
            letter: header(HeaderName.resentFrom)?.text)
    }

    /// The kind of the command in a value, and whether it has the id; nil if it is no command.
    private func kind(of topic: InputTopic, _ value: UnsafeRawBufferPointer) -> (kind: CommandKind, isMeant: Bool)? {
        switch topic {
        case .orders:
            switch commandDecoder.decodeOrder(value) {
            case .command(let order): (order.request == .cancel ? .cancel : .order, order.id.bytes.elementsEqual(id))
            case .rejected(let found, _): (.order, found.bytes.elementsEqual(id))
            case .undecodable: nil
            }
        case .restocks:
            switch commandDecoder.decodeRestock(value) {
            case .command(let restock): (.restock, restock.id.bytes.elementsEqual(id))
            case .rejected(let found, _): (.restock, found.bytes.elementsEqual(id))
            case .undecodable: nil
            }
        }
    }
}

// MARK: The outcome

extension CommandSearch {
    private func stories() -> [CommandStory] {
        var parts: [CommandStory.Key: Timeline<[CommandEvent]>] = [:]
        func add(_ events: [CommandEvent], to key: CommandStory.Key, isAnswered: Bool = false) {
            guard let place = events.last?.place else { return }
            var timeline = parts[key] ?? Timeline(from: 0)
            let time = place.timestamp ?? 0
            timeline.add(
                events, at: isAnswered ? timeline.time(of: time, partition: 0) : time, partition: place.partition,
                offset: place.offset)
            parts[key] = timeline
        }
        for found in answers.sorted(by: { ($0.place.partition, $0.place.offset) < ($1.place.partition, $1.place.offset) }) {
            let command = event(found.command, answeredBy: found, isForwarded: found.source != nil)
            let source = found.source.map { event($0, answeredBy: found) }
            add([source, command, event(found)].compactMap(\.self), to: found.key, isAnswered: true)
        }
        for sent in unanswered {
            let first = sent.source.flatMap { commands[$0] }.map { event($0) }
            add([first, event(sent, "  (\(state(of: sent.place)))")].compactMap(\.self), to: sent.key)
        }
        for (place, note) in copies {
            guard let copy = commands[place] else { continue }
            let remark = CommandEvent(
                event: "copy", word: "second copy", colour: nil, topic: clients.topics.results, place: note,
                text: "of \(clients.topics[place.topic.topic]) \(place.partition)@\(place.offset): the first one is answered",
                record: nil)
            add([event(copy), remark], to: copy.key)
        }
        for letter in letters {
            add([event(letter)], to: CommandStory.Key(store: Name(letter.store), isRestock: isRestock(letter)))
        }
        let id = String(decoding: id, as: UTF8.self)
        let stories = parts.map { key, timeline in
            CommandStory(id: id, key: key, events: timeline.sorted.flatMap(\.found))
        }
        return stories.sorted { ($0.key.store.text, $0.key.isRestock ? 1 : 0) < ($1.key.store.text, $1.key.isRestock ? 1 : 0) }
    }

    /// What became of a command without an answer.
    private func state(of place: InputPosition) -> String {
        let (topic, partition) = (clients.topics[place.topic.topic], place.partition)
        let source = DeadLetter.Source(topic: topic, partition: "\(partition)", offset: "\(place.offset)")
        if letters.contains(where: { $0.source == source }) { return "became a dead letter" }
        let position = positions[InputPartition(topic: place.topic, partition: partition)]
        let isWaiting = period.upperBound == TopicReader.always.upperBound && position.map { place.offset >= $0 } ?? true
        return isWaiting ? "not answered yet" : "no answer found"
    }

    private func event(_ sent: Sent, _ remark: String = "") -> CommandEvent {
        let from = sent.source.map { LetterPosition(partition: $0.partition, offset: $0.offset) }
        let letter = sent.letter.flatMap { LetterPosition($0, separator: "/") }
        let origins = [("forwardedFrom", from), ("resentFrom", letter)]
        return CommandEvent(
            event: sent.kind.word, word: sent.source == nil ? sent.kind.word : "forwarded", colour: nil,
            topic: clients.topics[sent.place.topic.topic],
            place: RecordPlace(timestamp: sent.timestamp, partition: sent.place.partition, offset: sent.place.offset),
            text: (from.map { "from \($0.text)" } ?? String(decoding: sent.value, as: UTF8.self))
                + (letter.map { "  (resent from the dead letter \($0.text))" } ?? "") + remark,
            members: origins.compactMap { name, place in place.map { (name, JSONText.line($0.headerText)) } },
            record: sent.value)
    }

    /// The command at a place, whether it is retained or not.
    private func event(_ place: InputPosition, answeredBy found: Answered, isForwarded: Bool = false) -> CommandEvent {
        if let sent = commands[place] { return event(sent) }
        let word = found.answer.command.word
        return CommandEvent(
            event: word, word: isForwarded ? "forwarded" : word, colour: nil, topic: clients.topics[place.topic.topic],
            place: RecordPlace(timestamp: nil, partition: place.partition, offset: place.offset),
            text: "(no longer retained)", record: nil)
    }

    private func event(_ found: Answered) -> CommandEvent {
        let (word, colour) = AnswerLine.outcome(found.answer)
        return CommandEvent(
            event: "answer", word: word, colour: colour, topic: clients.topics.results, place: found.place,
            text: found.answer.message + (found.answer.isDuplicate ? "  (repeated)" : ""), record: found.bytes)
    }

    private func event(_ letter: DeadLetter) -> CommandEvent {
        CommandEvent(
            event: "deadLetter", word: "dead letter", colour: .red, topic: clients.topics.deadLetters,
            place: RecordPlace(
                timestamp: letter.timestamp, partition: letter.position.partition, offset: letter.position.offset),
            text: "\(letter.code), from \(letter.source.text): \(letter.message)" + (letter.isResent ? "  (resent)" : ""),
            members: [
                ("code", JSONText.line(letter.code)), ("source", JSONText.line(letter.source)), ("resent", "\(letter.isResent)"),
            ], record: letter.value)
    }
}

extension CommandKind {
    /// For people and programs.
    fileprivate var word: String { "\(self)" }
}

// MARK: Dead letters, and reading

extension CommandSearch {
    /// Whether a dead letter has the id: as a command, or somewhere in what is none.
    private func isMeant(_ letter: DeadLetter) -> Bool {
        guard isMeant(letter.timestamp), store.map({ Name($0) == Name(letter.store) }) ?? true, let value = letter.value else {
            return false
        }
        if let command = value.withUnsafeBytes({ kind(of: isRestock(letter) ? .restocks : .orders, $0) }) { return command.isMeant }
        let quoted = JSONText.line(String(decoding: id, as: UTF8.self))
        return Data(value).range(of: Data(quoted.utf8)) != nil
    }

    private func isRestock(_ letter: DeadLetter) -> Bool { letter.source.topic == clients.topics.restocks }

    private func read(
        _ reader: TopicReader, _ topic: String, _ ranges: [TopicPartition: Range<Offset>], done: Int, of total: Int,
        _ body: (ConsumedRecord) -> Void
    ) throws(Failure) {
        let starts = Dictionary(ranges.map { ($0.key.partition, $0.value.lowerBound) }) { first, _ in first }
        var passed: [Int32: Int] = [:]
        var count = 0
        try reader.read(ranges) { record in
            note(record.timestamp, in: topic)
            passed[record.partition] = Int(record.offset - (starts[record.partition] ?? 0))
            count += 1
            if count % 1000 == 0 { bar.show("searching \(topic)", done + passed.values.reduce(0, +), of: total) }
            body(record)
        }
    }

    private func note(_ timestamp: Int64?, in topic: String) {
        if let timestamp { oldest[topic] = min(oldest[topic] ?? .max, timestamp) }
    }
}
