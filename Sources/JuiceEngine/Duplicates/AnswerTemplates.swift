import JuiceMessages

/// The templates of the answers that have no compact content. Answers share them, and a template is kept as long as one of
/// its answers is remembered.
///
/// Most answers share one of a few templates: rejections, answers in another language, answers by another menu. Only an
/// answer that quotes its sender needs its own. Once the templates take half of the budget, the messages of further
/// rejections are clipped, so that these share templates, too.
struct AnswerTemplates {
    private struct Template {
        let template: AnswerTemplate
        var uses: Int
    }

    private let budget: Int
    private var templates = Slots<Template>()
    private var places: [AnswerTemplate: UInt32] = [:]
    /// The numbers of answers that have more than fit into a compact answer.
    private var numbers = Slots<NumberList>()
    /// An estimate of the memory that all this takes, in bytes.
    private(set) var byteCount = 0

    /// - Parameter budget: above this many bytes, the oldest answers should be forgotten.
    init(budget: Int) {
        self.budget = budget
    }

    var isOverBudget: Bool { byteCount > budget }

    /// Keeps an answer, until ``remove(_:)``.
    mutating func add(_ answer: UnsafeRawBufferPointer, _ head: AnswerHead) -> CompactAnswer {
        var list: [Int] = []
        var template = AnswerTemplate(of: answer, head, numbers: &list)
        let needed = needed(for: template, list)
        if needed > 0, byteCount + needed > budget / 2, AnswerTemplate.isRejection(answer) {
            list = []
            template = AnswerTemplate(of: answer, head, message: .clipped, numbers: &list)
        }
        let place = use(template)
        if let compact = CompactAnswer(template: place, numbers: list) { return compact }
        let kept = NumberList(list)
        byteCount += kept.size
        return CompactAnswer(template: place, numbersAt: numbers.insert(kept))
    }

    /// Forgets an answer.
    mutating func remove(_ answer: CompactAnswer) {
        guard let templated = answer.templated else { return }
        if case .elsewhere(let place) = templated.numbers, let list = numbers.remove(at: place) {
            byteCount -= list.size
        }
        guard var used = templates[templated.template] else { return }
        used.uses -= 1
        templates[templated.template] = used
        guard used.uses == 0 else { return }
        _ = templates.remove(at: templated.template)
        places[used.template] = nil
        byteCount -= Self.size(of: used.template)
    }

    /// Writes the answer to a repeat.
    ///
    /// - Returns: false, having written nothing, if the answer has no template.
    func write(_ answer: CompactAnswer, _ head: AnswerHead, into buffer: inout OutputBuffer) -> Bool {
        guard let templated = answer.templated, let kept = templates[templated.template] else { return false }
        let list =
            switch templated.numbers {
            case .here(let list): list
            case .elsewhere(let place): numbers[place]?.numbers ?? []
            }
        kept.template.write(head, numbers: list, into: &buffer)
        return true
    }

    /// How many bytes an answer adds: none if its template is known and its numbers fit into the compact answer.
    private func needed(for template: AnswerTemplate, _ list: [Int]) -> Int {
        let isCompact = CompactAnswer(template: 0, numbers: list) != nil
        return (places[template] == nil ? Self.size(of: template) : 0)
            + (isCompact ? 0 : NumberList(list).size)
    }

    private mutating func use(_ template: AnswerTemplate) -> UInt32 {
        if let place = places[template] {
            templates[place]?.uses += 1
            return place
        }
        let place = templates.insert(Template(template: template, uses: 1))
        places[template] = place
        byteCount += Self.size(of: template)
        return place
    }

    /// The bytes, the overhead of their allocation, and an element of the array and of the dictionary, both of which may
    /// have twice the capacity they need.
    private static func size(of template: AnswerTemplate) -> Int { template.count + 48 + 2 * 32 }
}

/// Numbers from 0 up, in few bytes.
private struct NumberList {
    /// Seven bits in a byte, least significant first, whose eighth says that more follow (LEB128).
    private let bytes: [UInt8]

    init(_ numbers: [Int]) {
        var bytes: [UInt8] = []
        for number in numbers {
            var rest = number
            while rest > 0x7F {
                bytes.append(UInt8(rest & 0x7F) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        self.bytes = bytes
    }

    /// The memory that it takes, in bytes: the allocation with its overhead, and an element of the array.
    var size: Int { bytes.count + 48 + 2 * 8 }

    var numbers: [Int] {
        var numbers: [Int] = []
        var (number, shift) = (0, 0)
        for byte in bytes {
            number |= Int(byte & 0x7F) << shift
            shift += 7
            guard byte <= 0x7F else { continue }
            numbers.append(number)
            (number, shift) = (0, 0)
        }
        return numbers
    }
}

/// Values by number. The numbers of removed values are used again.
private struct Slots<Value> {
    private var values: [Value?] = []
    private var free: [UInt32] = []

    mutating func insert(_ value: Value) -> UInt32 {
        if let place = free.popLast() {
            values[Int(place)] = value
            return place
        }
        values.append(value)
        return UInt32(values.count - 1)
    }

    mutating func remove(at place: UInt32) -> Value? {
        guard let value = values[Int(place)] else { return nil }
        values[Int(place)] = nil
        free.append(place)
        return value
    }

    subscript(place: UInt32) -> Value? {
        get { values[Int(place)] }
        set { values[Int(place)] = newValue }
    }
}
