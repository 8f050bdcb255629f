import JuiceMessages

/// What answers need besides the 16 bytes of a ``CompactAnswer``: the numbers that do not fit into these, and the templates of
/// the answers that numbers do not say. Answers share templates, and a template is kept as long as one of its answers is
/// remembered.
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
    private var numbers = NumberQueue()
    /// The numbers of a content, kept for its memory only.
    private var packed = NumberList()
    private var templateBytes = 0

    /// - Parameter budget: above this many bytes, the oldest answers should be forgotten.
    init(budget: Int) {
        self.budget = budget
    }

    /// An estimate of the memory that all this takes, in bytes.
    var byteCount: Int { templateBytes + numbers.byteCount }

    var isOverBudget: Bool { byteCount > budget }

    /// Keeps the numbers of a content that is too large for a compact answer, until ``remove(_:)``.
    ///
    /// - Returns: nil if numbers do not say it.
    mutating func add(_ content: AnswerContent) -> CompactAnswer? {
        packed.removeAll()
        guard content.pack(into: &packed) else { return nil }
        return CompactAnswer(content.kind, numbersAt: numbers.append(packed))
    }

    /// The numbers of an answer's content.
    func numbers(at place: Int) -> NumberList { numbers[place] }

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
        return CompactAnswer(template: place, numbersAt: numbers.append(NumberList(list)))
    }

    /// Forgets an answer, which must be the oldest or the newest.
    mutating func remove(_ answer: CompactAnswer) {
        if let place = answer.numbersPlace { numbers.remove(at: place) }
        guard let templated = answer.templated else { return }
        guard var used = templates[templated.template] else { return }
        used.uses -= 1
        templates[templated.template] = used
        guard used.uses == 0 else { return }
        _ = templates.remove(at: templated.template)
        places[used.template] = nil
        templateBytes -= Self.size(of: used.template)
    }

    /// Whether an answer with a template took an order back.
    func isCancelled(_ answer: CompactAnswer) -> Bool {
        answer.templated.flatMap { templates[$0.template] }?.template.isCancelled ?? false
    }

    /// Writes the answer to a repeat.
    ///
    /// - Returns: false, having written nothing, if the answer has no template.
    func write(_ answer: CompactAnswer, _ head: AnswerHead, into buffer: inout OutputBuffer) -> Bool {
        guard let templated = answer.templated, let kept = templates[templated.template] else { return false }
        let list =
            switch templated.numbers {
            case .here(let list): list
            case .elsewhere(let place): numbers[place].all
            }
        kept.template.write(head, numbers: list, into: &buffer)
        return true
    }

    /// How many bytes an answer adds: none if its template is known and its numbers fit into the compact answer.
    private func needed(for template: AnswerTemplate, _ list: [Int]) -> Int {
        let isCompact = CompactAnswer(template: 0, numbers: list) != nil
        return (places[template] == nil ? Self.size(of: template) : 0)
            + (isCompact ? 0 : NumberList(list).bytes.count)
    }

    private mutating func use(_ template: AnswerTemplate) -> UInt32 {
        if let place = places[template] {
            templates[place]?.uses += 1
            return place
        }
        let place = templates.insert(Template(template: template, uses: 1))
        places[template] = place
        templateBytes += Self.size(of: template)
        return place
    }

    /// The bytes, the overhead of their allocation, and an element of the array and of the dictionary, both of which may
    /// have twice the capacity they need.
    private static func size(of template: AnswerTemplate) -> Int { template.count + 48 + 2 * 32 }
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
