import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

struct DeadLetterResend: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend", abstract: "Send dead letters again, corrected or as they are.",
        discussion: """
            Writes the record back to its original topic, to the partition of its store, with the sender's headers and \
            with its own key and value or those given here. A record that would become a dead letter again is refused, \
            unless --unchecked is given. A truncated one needs --value.

            A dead letter is sent once, however often and wherever this command runs, and even if it dies: it writes the \
            record and a note in the dead-letter topic in one Kafka transaction, and of several runs at the same time \
            only the latest can commit. The note is retained as long as the letters. (An embedded broker does not give \
            these guarantees.) A resent record is an ordinary command: if its id was already answered within the \
            duplicate window, it gets that answer again.

            More than one letter is sent only with --yes. --all sends the oldest first, and --at-most how many of them: the next \
            run goes on with those that are left. The exit status is 3 if any was refused. \(TimeText.help)

            Examples:
              juice dead-letters show 3@42 --raw > order.json       (then edit the file)
              juice dead-letters resend 3@42 --value order.json
              jq -c '.orderId = "pos-7-1"' order.json | juice dead-letters resend 3@42 --value -
              juice dead-letters resend 3@42 --key gangnam
              juice dead-letters resend --all --code misplaced --yes
              juice dead-letters resend --all --since 02:00 --until 02:30 --at-most 100 --yes
            """
    )

    @Argument(
        help: ArgumentHelp("The positions, as in the list.", valueName: "partition@offset"),
        transform: OptionValue.recordPosition.value)
    var positions: [RecordPosition] = []
    @Flag("Send all that were not resent yet and match --code, --since and --until.") var all = false
    @OptionGroup var choice: DeadLetterChoice
    @Option("Send no more than this many of them.", .number(in: 1...1_000_000)) var atMost: Int?
    @Option("A file with the value to send instead, or - for standard input.", .file) var value: String?
    @Option("The key to send instead: the store. An empty one removes the key.", .text("store")) var key: String?
    @Flag("Also send records that would become dead letters again.") var unchecked = false
    @Flag("Send more than one.") var yes = false
    @OptionGroup var client: ClientOptions

    func validate() throws {
        guard positions.isEmpty == all else {
            let missing = "which dead letters? Name them as PARTITION@OFFSET, or choose with --all"
            throw ValidationError(all ? "--all and positions exclude each other" : missing)
        }
        guard all || !choice.isGiven && atMost == nil else {
            throw ValidationError("--code, --since, --until and --at-most choose among --all")
        }
        guard positions.count == 1 || value == nil && key == nil else {
            throw ValidationError("--value and --key are for one dead letter at a time")
        }
    }

    func run() throws {
        let counts = try resend(KafkaClients(client)) { StandardOutput.line($0) }
        if counts.resent + counts.before + counts.refused != 1 {
            StandardOutput.line("resent \(counts.resent), resent before \(counts.before), refused \(counts.refused)")
        }
        if counts.refused > 0 { throw ExitCode(Failure.Status.rejected.rawValue) }
    }

    /// Sends the chosen letters that have no note yet.
    ///
    /// - Parameter show: receives a line for each letter once its outcome is certain.
    /// - Throws: ``Failure``, after which some letters may have been sent. The notes say which, so the command can run again.
    func resend(
        _ clients: KafkaClients, show: (_ line: String) -> Void
    ) throws(Failure) -> (resent: Int, before: Int, refused: Int) {
        let value = try value.map { path throws(Failure) in try Self.contents(of: path) }
        let count = try clients.partitionCount(
            of: clients.topics.orders, asking: clients.reachedAdmin())
        let isMeant = try choice.test()
        // Created before the letters are read: it fences all other senders, so the notes are complete.
        let sender = try DeadLetterSender(clients)
        let letters: [DeadLetter]
        do throws(Failure) {
            let reader = try DeadLetterReader(clients, waitsForTransactions: true)
            letters = try all ? reader.all(where: isMeant) : reader.at(Set(positions))
        } catch  where error.status == .unavailable {
            throw Failure(
                .unavailable, "the dead letters cannot be read to their end within \(DurationText.text(clients.timeout))",
                hint: "a transaction of an instance that died may be undecided for some 20 s: try again")
        }
        var (counts, records) = ((resent: 0, before: 0, refused: 0), [Record]())
        for letter in letters where records.count < atMost ?? .max {
            if letter.isResent {
                guard !all else { continue }
                counts.before += 1
                show("\(letter.position.text) was sent before")
                continue
            }
            do throws(Failure) {
                let partitionCount = Int32(clamping: max(1, count))
                records.append(try record(for: letter, value: value, clients.topics, partitionCount: partitionCount))
            } catch {
                counts.refused += 1
                show("\(letter.position.text) not sent: \(error.message)".printable)
            }
        }
        guard records.count <= 1 || yes else {
            throw Failure(.usage, "sending \(records.count.counted("dead letter")) again needs --yes")
        }
        for start in stride(from: 0, to: records.count, by: DeadLetterSender.batchSize) {
            let batch = records[start..<min(start + DeadLetterSender.batchSize, records.count)]
            do throws(KafkaError) {
                try sender.send(batch, deadline: clients.deadline)
            } catch {
                let fenced = Failure(.unavailable, "another process has started to resend dead letters")
                let failure = error.code == .fenced ? fenced : clients.failure(error)
                throw failure.with("run the command again: no letter is sent twice")
            }
            counts.resent += batch.count
            for record in batch {
                show("\(record.letter.text) sent to \(clients.topics[record.topic.topic]) partition \(record.partition)")
            }
        }
        return counts
    }

    private static func contents(of path: String) throws(Failure) -> [UInt8] {
        let bytes = try Failure.bytes(of: path == "-" ? "/dev/stdin" : path, "the value's file", mayBeEmpty: true)
        // Editors and shells end a file with a line feed, which is not part of the command.
        return bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
    }

    struct Record {
        let letter: RecordPosition
        let topic: InputTopic
        let partition: Int32
        let key, value: [UInt8]?
        let headers: HeaderList?
    }

    /// The record to send for a dead letter.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/rejected``, which says why it is not sent.
    func record(
        for letter: DeadLetter, value replacement: [UInt8]?, _ topics: TopicNames, partitionCount: Int32
    ) throws(Failure) -> Record {
        let source = letter.source.topic
        guard let input = topics.input(named: source) else {
            throw Failure(.rejected, "it came from \(source), which is no topic of commands")
        }
        guard letter.truncatedFrom == nil || replacement != nil else {
            throw Failure(.rejected, "its value was truncated; give the whole value with --value")
        }
        let value = replacement ?? letter.value
        let key = self.key.map { $0.isEmpty ? nil : Array($0.utf8) } ?? letter.key
        if !unchecked, let fault = Self.fault(key: key, value: value, of: input) {
            let fix = fault == .badStore ? "--key" : "--value"
            throw Failure(.rejected, "it would become a dead letter again, as \(fault.code); correct it with \(fix)")
        }
        let owner = (key ?? []).withUnsafeBytes { bytes in
            // Any partition will do for a key that names no store.
            Murmur2.partition(of: (StoreID.read(key: bytes) ?? BorrowedText("main")).bytes, count: partitionCount)
        }
        return Record(
            letter: letter.position, topic: input, partition: owner, key: key, value: value,
            headers: letter.headerList?.removing(DeadLetter.ownHeaders))
    }

    /// Why the service would make the record a dead letter; nil if it would not.
    private static func fault(key: [UInt8]?, value: [UInt8]?, of input: InputTopic) -> DeadLetterReason? {
        guard (key ?? []).withUnsafeBytes({ StoreID.read(key: $0) != nil }) else { return .badStore }
        return (value ?? []).withUnsafeBytes { bytes in
            if case .undecodable(let reason) = CommandDecoder(menu: .standard).decode(bytes, of: input) { reason } else { nil }
        }
    }
}

/// Writes records for dead letters, each exactly once, however often it is tried.
///
/// The resent record and a note in the dead-letter topic are written in one transaction. All senders share one transactional id, so
/// a new sender fences the previous one, whose transaction is then either committed or aborted (KIP-98). Notes that are read after
/// that are complete, and the sender can commit only until another one starts.
struct DeadLetterSender {
    private let session: TransactionSession
    private let topics: TopicNames

    static let batchSize = 100
    private static let callTimeout = Duration.seconds(1)

    /// Fences any other sender of dead letters.
    init(_ clients: KafkaClients) throws(Failure) {
        topics = clients.topics
        // Inputs come first, so that their raw values are their indices.
        let names = InputTopic.allCases.map { clients.topics[$0.topic] } + [clients.topics.deadLetters]
        let configuration = KafkaConfiguration([
            "transaction.timeout.ms": "10000", "linger.ms": "0",
            // Let the broker enforce the limit.
            "message.max.bytes": "100000000",
        ]).merging(clients.base().properties)
        // A record that arrived compressed may be too large without compression.
        let session = TransactionSession(
            ids: { [topics] _ in [topics.deadLetters + "/resend"] }, topics: names.map { ($0, ["compression.type": "zstd"]) },
            configuration: configuration, hooks: clients.hooks)
        self.session = session
        try clients.ask(nil) { _ throws(KafkaError) in
            _ = try session.initTransactions(timeout: Self.callTimeout)
        }
    }

    /// Sends records for letters that have no note yet: all of them or none.
    ///
    /// - Throws: ``KafkaError``, after which nothing more can be sent. Initialising the transactional id again could fence a sender
    ///   that started since.
    func send(_ records: ArraySlice<DeadLetterResend.Record>, deadline: Deadline) throws(KafkaError) {
        // A request that librdkafka gave up on may still arrive, and commit half a batch (KIP-890).
        guard !session.hasLostConnection else {
            throw KafkaError(code: .timedOut, message: "a connection was lost during the last batch", isRetriable: true)
        }
        try begin(records)
        try retrying(while: { !deadline.isOver }) { () throws(KafkaError) in try session.commit(timeout: Self.callTimeout) }
    }

    /// Begins a transaction with these records, and notes that mark their letters as resent.
    func begin(_ records: some Sequence<DeadLetterResend.Record>) throws(KafkaError) {
        try session.begin()
        for record in records {
            let from = RecordHeader(name: HeaderName.resentFrom, value: record.letter.header)
            try produce(to: record.topic.rawValue, record.partition, key: record.key, value: record.value, [from], record.headers)
            let note = [
                RecordHeader(name: HeaderName.resentLetter, value: record.letter.header),
                RecordHeader(name: HeaderName.resentTo, value: "\(topics[record.topic.topic])/\(record.partition)"),
            ]
            try produce(to: InputTopic.allCases.count, record.letter.partition, key: nil, value: nil, note)
        }
    }

    private func produce(
        to topic: Int, _ partition: Int32, key: [UInt8]?, value: [UInt8]?, _ headers: [RecordHeader],
        _ copied: HeaderList? = nil
    ) throws(KafkaError) {
        try (key ?? []).withUnsafeBufferPointer { keyBytes throws(KafkaError) in
            try (value ?? []).withUnsafeBufferPointer { valueBytes throws(KafkaError) in
                try session.produce(
                    to: topic, partition: partition, key: key == nil ? nil : UnsafeRawBufferPointer(keyBytes),
                    value: value == nil ? nil : UnsafeRawBufferPointer(valueBytes), headers: headers, copying: copied)
            }
        }
    }
}
