import JuiceEngine
import JuiceMaker
import JuiceMessages

// What an engine with a flaw would restore and write, given to an engine without it.
extension SimulatedLog {
    /// A record of a changelog as it would be restored; nil if it would be overlooked.
    func restored(_ record: SimulatedPartition.Record, of topic: ChangelogTopic) -> SimulatedPartition.Record?
    {
        switch (flaw, topic) {
        case (.cancelReturnsTwice, .results):
            return returned(by: record).map(\.isEmpty) == false ? nil : record
        case (.earlyCancelForgotten, .results):
            return returned(by: record).map(\.isEmpty) == true ? nil : record
        case (.revisionRepeats, .stock):
            guard let value = record.value, let stock = try? StockDecoder().decode(value.view) else {
                return record
            }
            let text = String(decoding: value.view, as: UTF8.self)
            var copy = record
            copy.value = StableBytes(
                text.replacing(#""revision":\#(stock.revision)"#, with: #""revision":\#(stock.revision - 1)"#)
            )
            return copy
        default:
            return record
        }
    }

    /// What the cancel returned that a record answers; nil for another answer.
    private func returned(by record: SimulatedPartition.Record) -> [FruitAmount]? {
        guard let answer = answer(record.value?.view), case .cancelled(let returned, _) = answer.outcome
        else {
            return nil
        }
        return returned
    }

    /// The value of a record as it would be written; nil if it would be the same.
    func written(_ record: OutputRecord) -> StableBytes? {
        guard flaw == .basketJudgedItemByItem, record.topic == .results, let answer = answer(record.value),
            case .outOfStock(.basket(let items), let missing) = answer.outcome
        else { return nil }
        let menu = Menu.standard
        let isEnoughForEach = items.allSatisfy { item in
            let juice = menu.juiceIndex(id: item.juice).map { menu.juices[$0] }
            return juice?.recipe.allSatisfy { ingredient in
                let inStock = missing.first { $0.fruit == menu.fruits[ingredient.fruit].id }?.inStock
                return inStock.map { $0 >= ingredient.amount * item.quantity } ?? true
            } ?? false
        }
        guard isEnoughForEach else { return nil }
        // The levels that would be below zero are none.
        let used = missing.map { #""\#($0.fruit)":\#($0.needed)"# }.joined(separator: ",")
        let left = missing.map { #""\#($0.fruit)":0"# }.joined(separator: ",")
        let list = items.map { #"{"juice":"\#($0.juice)","quantity":\#($0.quantity)}"# }.joined(
            separator: ","
        )
        return StableBytes(
            #"{"type":"juiceMade","orderId":"\#(answer.id)","store":"\#(answer.store)","items":[\#(list)],"#
                + #""used":{\#(used)},"left":{\#(left)},"message":"juice made"}"#
        )
    }

    private func answer(_ value: UnsafeRawBufferPointer?) -> Answer? {
        value.flatMap { try? AnswerDecoder().decode($0) }
    }
}
